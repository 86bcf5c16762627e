"""Trajectory files keep trajectories whole, find one by offset, and name their damage."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from engine.errors import RunDirectoryError
from engine.rollout.trajectory_files import read_record, read_records, survey, write_trajectory_file

RECORDS = [
    {"id": "a", "text": "x" * 500},
    {"id": "b", "text": "\ud800 lone surrogate, \u202e bidi, \x00 nul"},
    {"id": "c"},
]


def test_what_is_written_is_read_back_in_order(tmp_path: Path) -> None:
    write_trajectory_file(tmp_path / "s.jsonl.zst", RECORDS)
    assert [record for _, _, record in read_records(tmp_path / "s.jsonl.zst")] == RECORDS


def test_an_offset_and_a_length_find_one_trajectory(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.zst"
    write_trajectory_file(path, RECORDS)
    spans = [(offset, length) for offset, length, _ in read_records(path)]
    assert [read_record(path, *span) for span in spans] == RECORDS


def test_the_whole_file_is_one_stream_of_json_lines_to_other_tools(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.zst"
    write_trajectory_file(path, RECORDS)
    with path.open("rb") as file:
        text = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
    assert text.count(b"\n") == len(RECORDS)


def test_a_file_cut_short_gives_what_comes_before_the_damage(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.zst"
    write_trajectory_file(path, RECORDS)
    path.write_bytes(path.read_bytes()[:-3])
    seen = []
    with pytest.raises(RunDirectoryError, match="middle of a record"):
        for _, _, record in read_records(path):
            seen.append(record["id"])
    assert seen == ["a", "b"]


def test_a_file_that_is_gone_says_so(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="does not exist"):
        read_record(tmp_path / "s.jsonl.zst", 0, 10)


def test_reading_files_loads_no_torch() -> None:
    modules = "engine.rollout.trajectory_files, engine.rollout.prompts, engine.rollout.action_parser"
    code = f"import sys, {modules}; print('torch' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


def members(count: int = 4) -> list[dict[str, object]]:
    return [
        {"environment": "Lake", "group": 2, "member": member, "seed": 7, "text": f"{member}" * 300}
        for member in range(count)
    ]


def lost(path: Path) -> dict[object, str]:
    """The members that the file tells it has lost, and why."""
    return {frame.identity["member"]: frame.why for frame in survey(path) if frame.record is None}


def test_a_file_cut_short_names_every_trajectory_that_it_lost(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.zst"
    write_trajectory_file(path, members())
    spans = [offset for offset, _, _ in read_records(path)]
    path.write_bytes(path.read_bytes()[: spans[2] + 5])
    found = [frame.record["member"] for frame in survey(path) if frame.record]
    assert found == [0, 1]
    assert list(lost(path)) == [2, 3]
    assert all("it was cut off at byte" in why for why in lost(path).values())
    assert {"environment": "Lake", "group": 2, "member": 3, "seed": 7} in [frame.identity for frame in survey(path)]


@pytest.mark.parametrize("where", [0, 6, 9, -1])
def test_any_changed_byte_of_a_record_is_seen_and_costs_no_other(tmp_path: Path, where: int) -> None:
    path = tmp_path / "s.jsonl.zst"
    write_trajectory_file(path, members())
    _, (offset, length, _), *_ = read_records(path)
    data = bytearray(path.read_bytes())
    data[offset + where % length] ^= 0x55
    path.write_bytes(bytes(data))
    assert list(lost(path)) == [1]


@pytest.mark.parametrize("where", [0, 9])
def test_a_file_without_contents_is_walked_and_goes_on_behind_the_damage(tmp_path: Path, where: int) -> None:
    """As files were before they had contents, or where the contents themselves are damaged: in the bytes by which a
    record is found, or behind them."""
    path = tmp_path / "s.jsonl.zst"
    write_trajectory_file(path, members())
    spans = [(offset, length) for offset, length, _ in read_records(path)]
    data = bytearray(path.read_bytes()[spans[0][0] :])
    begin = spans[1][0] - spans[0][0] + where
    data[begin : begin + 4] = b"\0" * 4
    path.write_bytes(bytes(data))
    frames = list(survey(path))
    assert [frame.record["member"] if frame.record else None for frame in frames] == [0, None, 2, 3]
    assert frames[1].identity == {}
    with path.open("r+b") as file:
        file.truncate(0)
    assert list(survey(path)) == []


@pytest.mark.parametrize("contents", [b"[]", b"{}", b"[1]", b"not json", b'[{"length":-5}]', b'[{"length":"9"}]'])
def test_contents_that_make_no_sense_lose_nothing(tmp_path: Path, contents: bytes) -> None:
    path = tmp_path / "s.jsonl.zst"
    write_trajectory_file(path, members())
    first = next(read_records(path))[0]
    header = b"\x5e\x2a\x4d\x18" + len(contents).to_bytes(4, "little") + contents
    path.write_bytes(header + path.read_bytes()[first:])
    found = [frame.record["member"] for frame in survey(path) if frame.record]
    assert found == ([0, 1, 2, 3] if contents != b"[]" else [])
