"""Lists of seeds: a range, a file, and every way to get one wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import ConfigError
from engine.evaluation.seeds import read_seeds


def test_a_range_counts_from_its_first() -> None:
    assert read_seeds("1000000000:3") == [1_000_000_000, 1_000_000_001, 1_000_000_002]


def test_a_file_keeps_its_order_and_may_explain_itself(tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt"
    path.write_text("# hard ones\n1000000007\n\n  5  # easy\n1000000001\n")
    assert read_seeds(str(path)) == [1_000_000_007, 5, 1_000_000_001]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1\ntwo\n3\n", "line 2: 'two' is not a seed"),
        ("1\n-2\n", "line 2: '-2' is not a seed"),
        ("1.5\n", "line 1: '1.5' is not a seed"),
        ("1e9\n", "line 1: '1e9' is not a seed"),
        ("٣\n", "line 1: '٣' is not a seed"),
        ("9007199254740992\n", "is not a seed"),
        ("4\n5\n4\n", "line 3: seed 4 is on line 1 already"),
        ("# nothing\n", "has no seeds"),
    ],
)
def test_a_file_with_an_invalid_line_is_refused_with_its_number(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=said):
        read_seeds(str(path))


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for path in ("binary", "none", "."):
        with pytest.raises(ConfigError, match="--seeds"):
            read_seeds(str(tmp_path / path))


@pytest.mark.parametrize("text", ["5:0", "0:1000001", "9007199254740991:2"])
def test_ranges_of_nothing_or_too_much_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        read_seeds(text)
