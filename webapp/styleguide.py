"""The examples of the style guide: each component in each of its states. The page is in `webapp.pages`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from engine.environments.registry import make_environment
from engine.metrics import GLOSSARY, describe
from engine.verdict.types import LEVELS, TITLES
from webapp.runs.states import RESTARTING, RunState
from webapp.runs.verdicts import ICONS

SEVERITIES = ("watch", "warn", "critical", "dead")
LINES = (("live", "live"), ("catching-up", "catching up"), ("polling", "polling"), ("stale", "not connected"))


def examples() -> dict[str, Any]:
    environment = make_environment("frozen_lake")
    environment.reset(seed=1)
    return {
        "states": [*(state.value for state in RunState), RESTARTING],
        "verdicts": [(LEVELS[label], ICONS[label], title) for label, title in TITLES.items()],
        "severities": SEVERITIES,
        "lines": LINES,
        "metric": describe("reward/within_group_std"),
        "glossary": {name: asdict(metric) for name, metric in GLOSSARY.items()},
        "drawing": environment.drawing(),
    }
