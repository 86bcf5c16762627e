"""The strip on a run's page that shows where its time goes."""

from __future__ import annotations

import re
from pathlib import Path

from engine.metrics import GLOSSARY

STATIC = Path(__file__).parents[3] / "static"


def test_every_time_metric_has_a_segment_and_a_colour() -> None:
    script, style = (STATIC / "js/run/phase_bars.js").read_text(), (STATIC / "css/run_page.css").read_text()
    listed = re.search(r"const PHASES = \[(.*?)\]", script, re.DOTALL)
    assert listed is not None
    phases = re.findall(r'"(\w+)"', listed[1])
    measured = {name.removeprefix("time/") for name in GLOSSARY if name.startswith("time/")}
    # a step is the sum of most of them, and waiting is what the page measures between two steps
    assert set(phases) - {"waiting"} == measured - {"step"}
    assert all(f".phase-{phase} {{" in style for phase in phases)
