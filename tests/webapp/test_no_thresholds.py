"""The verdict has one source, `engine.verdict`: no script and no module of the site compares a metric with a number."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "static/js/run").rglob("*.js"))
MODULES = sorted(path for path in (ROOT / "webapp").rglob("*.py") if "migrations" not in path.parts)
METRIC = r"""["'](?:rollout|reward|collapse|policy|optim|eval|gradient|filter)/[a-z0-9_/]+["']"""
# a comparison with a fraction, or a multiple of a baseline
COMPARED = re.compile(r"(?:[<>]=?|[!=]==?)\s*-?(?:0?\.\d+|[1-9]\d*\.\d+)\b")
MULTIPLE = re.compile(r"\b\d+(?:\.\d+)?\s*[*/]\s*(?:start|baseline|best|first|mean|before)\b")
METRIC_COMPARED = re.compile(METRIC + r"\]?\)?\s*(?:[<>]=?|[!=]==?)\s*-?\d")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT / "static/js")))
def test_no_script_of_the_run_page_compares_with_a_threshold(path: Path) -> None:
    text = path.read_text()
    for pattern in (COMPARED, MULTIPLE, METRIC_COMPARED):
        assert pattern.findall(text) == []


def test_no_module_of_the_site_compares_a_metric_with_a_number() -> None:
    found = [str(path) for path in MODULES if METRIC_COMPARED.search(path.read_text())]
    assert found == []


def test_the_patterns_find_thresholds() -> None:
    assert COMPARED.search("changed: (value, start) => value > 1.5 * start")
    assert MULTIPLE.search("value < 0.9 * start")
    assert METRIC_COMPARED.search('metrics["rollout/parse_ok_rate"] < 1')
