"""Lines from the end of a file, against `splitlines` of all of it, in blocks of a few bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import line_files
from engine.line_files import lines_from_the_end, remove_partial_line


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.text("ab\n", max_size=40).map(str.encode), block=st.integers(1, 9))
def test_lines_from_the_end_are_the_complete_lines_reversed(tmp_path: Path, data: bytes, block: int) -> None:
    path = tmp_path / "lines"
    path.write_bytes(data)
    whole = data[: data.rfind(b"\n") + 1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_files, "BLOCK", block)
        assert list(lines_from_the_end(path)) == [line for line in reversed(whole.split(b"\n")) if line]
        assert remove_partial_line(path) == len(data) - len(whole)
    assert path.read_bytes() == whole


def test_a_file_without_any_line_break_has_no_line(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"x" * (3 << 20))
    assert list(lines_from_the_end(path)) == []
    assert remove_partial_line(path) == 3 << 20
    assert path.read_bytes() == b""


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        remove_partial_line(tmp_path / "absent")
