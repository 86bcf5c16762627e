"""Shards keep trajectories whole, find one by offset, and name their damage."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from engine.errors import RunDirectoryError
from engine.rollout.shards import read_record, read_records, write_shard

RECORDS = [
    {"id": "a", "text": "x" * 500},
    {"id": "b", "text": "\ud800 lone surrogate, \u202e bidi, \x00 nul"},
    {"id": "c"},
]


def test_what_is_written_is_read_back_in_order(tmp_path: Path) -> None:
    write_shard(tmp_path / "s.jsonl.zst", RECORDS)
    assert [record for _, _, record in read_records(tmp_path / "s.jsonl.zst")] == RECORDS


def test_an_offset_and_a_length_find_one_trajectory(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.zst"
    write_shard(path, RECORDS)
    places = [(offset, length) for offset, length, _ in read_records(path)]
    assert [read_record(path, *place) for place in places] == RECORDS


def test_the_whole_file_is_one_stream_of_json_lines_to_other_tools(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.zst"
    write_shard(path, RECORDS)
    with path.open("rb") as file:
        text = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
    assert text.count(b"\n") == len(RECORDS)


def test_a_shard_cut_short_gives_what_comes_before_the_damage(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.zst"
    write_shard(path, RECORDS)
    path.write_bytes(path.read_bytes()[:-3])
    seen = []
    with pytest.raises(RunDirectoryError, match="middle of a record"):
        for _, _, record in read_records(path):
            seen.append(record["id"])
    assert seen == ["a", "b"]


def test_a_shard_that_is_gone_says_so(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="is gone"):
        read_record(tmp_path / "s.jsonl.zst", 0, 10)


def test_reading_shards_loads_no_torch() -> None:
    modules = "engine.rollout.shards, engine.rollout.prompts, engine.rollout.action_parser"
    code = f"import sys, {modules}; print('torch' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"
