"""Records are read by offset, and only from the run's own directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import RunDirectoryError
from webapp.runs.models import Run
from webapp.trajectories import services
from webapp.trajectories.models import Trajectory


def test_a_row_finds_its_own_record(rows: list[Trajectory]) -> None:
    for row in rows:
        found = services.record(row)
        assert (found["step"], found["group"], found["member"], found["return"]) == (
            row.step,
            row.group,
            row.member,
            row.episode_return,
        )


def test_the_fields_of_a_record_are_consistent(rows: list[Trajectory]) -> None:
    for row in rows:
        found = services.record(row)
        turns, tokens = found["turns"], found["tokens"]
        assert found["return"] == pytest.approx(sum(turn["reward"] for turn in turns))
        assert turns[0]["return_to_go"] == pytest.approx(found["score"])
        assert "".join(tokens["text"][turns[0]["prompt_start"] : turns[0]["response_start"]]) == turns[0]["prompt"]
        assert row.response_tokens == sum(turn["response_end"] - turn["response_start"] for turn in turns)


@pytest.mark.parametrize("file", ["../../../../etc/passwd", "/etc/passwd", "trajectories/../../other/x.zst"])
def test_a_file_outside_the_run_directory_is_refused(rows: list[Trajectory], file: str) -> None:
    rows[0].file = file
    with pytest.raises(RunDirectoryError, match="is outside the directory of run"):
        services.record(rows[0])


def test_a_symlink_out_of_the_run_directory_is_refused(run: Run, rows: list[Trajectory], tmp_path: Path) -> None:
    outside = tmp_path / "outside.zst"
    (run.directory / rows[0].file).rename(outside)
    (run.directory / rows[0].file).symlink_to(outside)
    with pytest.raises(RunDirectoryError, match="is outside the directory"):
        services.record(rows[0])


def test_a_missing_file_is_named_in_the_error(run: Run, rows: list[Trajectory]) -> None:
    (run.directory / rows[0].file).unlink()
    with pytest.raises(RunDirectoryError, match=r"The trajectory file step_1.jsonl.zst does not exist"):
        services.record(rows[0])


def test_a_damaged_file_is_reported_with_its_offset(run: Run, rows: list[Trajectory]) -> None:
    path = run.directory / rows[3].file
    data = bytearray(path.read_bytes())
    data[rows[3].offset : rows[3].offset + 8] = b"\0" * 8
    path.write_bytes(bytes(data))
    assert services.record(rows[0])["member"] == 0
    with pytest.raises(RunDirectoryError, match=f"damaged: at byte {rows[3].offset}"):
        services.record(rows[3])


def test_a_directory_instead_of_a_file_is_an_error_with_a_remedy(run: Run, rows: list[Trajectory]) -> None:
    path = run.directory / rows[0].file
    path.unlink()
    path.mkdir()
    with pytest.raises(RunDirectoryError, match="cannot be read") as caught:
        services.record(rows[0])
    assert caught.value.remedy


def test_neighbours_continue_into_the_next_group(rows: list[Trajectory]) -> None:
    last_of_first_group, first_of_second = rows[3], rows[4]
    assert services.neighbours(last_of_first_group) == (rows[2], first_of_second)
    assert services.neighbours(rows[0]) == (None, rows[1])
    assert services.neighbours(rows[15])[1] is None  # the next row belongs to another step


def test_facets_count_the_trajectories_of_a_run(run: Run, rows: list[Trajectory]) -> None:
    found = services.facets(run)
    assert (found.total, found.first_step, found.last_step) == (32, 1, 2)
    assert found.environments == {"FrozenLake": 32}
    assert sum(found.stops.values()) == 32
