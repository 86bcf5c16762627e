"""The examples of the style guide: each component in each of its states. The page is in `webapp.pages`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from engine.environments.registry import make_environment
from engine.metrics import GLOSSARY, describe
from engine.verdict.types import LEVELS, TITLES
from webapp.runs.states import SHOWN_LABELS
from webapp.runs.verdicts import ICONS

SEVERITIES = ("watch", "warn", "critical", "dead")
LINES = (("live", "live"), ("catching-up", "catching up"), ("polling", "polling"), ("stale", "not connected"))

DRAWINGS: tuple[dict[str, Any], ...] = (
    {
        "type": "arms",
        "arms": [{"name": "left", "pulled": True, "reward": 0.4}, {"name": "right", "pulled": False, "reward": None}],
    },
    {"type": "text", "text": "Numbers: 3, 5, 7 and 11. Reach 24.\n\n(11 - 3) * (7 - 5) = 16, which is not 24."},
    {
        "type": "table",
        "columns": ["Search", "Result", "Score"],
        "rows": [
            ["capital of France", "Paris", "0.93"],
            ["capital of Peru", "Lima", "0.91"],
            ["capital of Chad", "Chadwick", "0.12"],
        ],
        "caption": "Documents found",
        "marks": [[0, 1, "good"], [1, 1, "new"], [2, 1, "bad"], [0, 0, "given"]],
    },
    {
        "type": "table",
        "columns": [],
        "rows": [["1", "", "3", "4"], ["3", "4", "1", "2"], ["2", "1", "4", "3"], ["4", "4", "2", "1"]],
        "boxes": [2, 2],
        "marks": [[0, 0, "given"], [0, 2, "given"], [1, 1, "given"], [2, 0, "new"], [3, 1, "bad"]],
    },
    {
        "type": "cards",
        "cards": [
            {"title": "A", "text": "blue, 12 cm", "state": "normal"},
            {"title": "B", "text": "red, 9 cm", "state": "chosen"},
            {"title": "C", "text": "green, 12 cm", "state": "good"},
            {"title": "D", "text": "grey, 3 cm", "state": "bad"},
        ],
    },
    {
        "type": "page",
        "title": "Desk lamp, brass",
        "blocks": [
            {"kind": "button", "text": ["Back to search", "< Prev"]},
            {"kind": "heading", "text": "Price: $39.90"},
            {"kind": "text", "text": "A lamp for a desk, with an arm that holds its place."},
            {"kind": "list", "text": ["height 42 cm", "warm light"]},
            {"kind": "button", "text": "brass", "state": "chosen"},
            {"kind": "button", "text": ["black", "Buy Now"]},
            {"kind": "code", "text": "search[brass desk lamp]"},
        ],
    },
)


def examples() -> dict[str, Any]:
    environment = make_environment("frozen_lake")
    environment.reset(seed=1)
    return {
        "states": list(SHOWN_LABELS),
        "verdicts": [(LEVELS[label], ICONS[label], title) for label, title in TITLES.items()],
        "severities": SEVERITIES,
        "lines": LINES,
        "metric": describe("reward/within_group_std"),
        "glossary": {name: asdict(metric) for name, metric in GLOSSARY.items()},
        "drawings": [(f"guide-drawing-{index}", each) for index, each in enumerate([environment.drawing(), *DRAWINGS])],
    }
