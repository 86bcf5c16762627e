"""Every test that docs/reliability.md names exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def test_every_test_that_the_table_names_exists() -> None:
    named = NAMED.findall((ROOT / "docs/reliability.md").read_text())
    assert len(named) > 30
    missing = [
        f"{file}::{test}"
        for file, test in named
        if not re.search(rf"def {test}\(", (ROOT / "tests" / file).read_text())
    ]
    assert not missing
