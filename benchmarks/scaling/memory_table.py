"""Markdown tables of `benchmarks.scaling.memory`, next to the plan as it is now, and of `benchmarks.head_scores`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.head_scores import TITLES
from benchmarks.scaling.memory import CASES
from engine.cluster.byte_units import HALF
from engine.cluster.learner_memory import LearnerMemory

GIB, MIB = 1024**3, 1024**2


def memory_table(file: Path) -> str:
    """A row for each case that was measured, in the order of the cases; the last result of each counts."""
    measured = {line["case"]: line for line in _lines(file)}
    rows = []
    for name, case in CASES.items():
        if name in measured:
            plan, found = case.plan(), measured[name]
            # a single learner maps the whole file, several read their own rows of it
            mapped = HALF * found["parameters"] if case.learners == 1 else 0
            rows.append([name, str(found["tokens"]), *_pair(while_training(plan), found["training"])])
            rows[-1] += _pair(plan.loading + mapped, found["loading"])
    head = ["case", "tokens at once", "updates: plan", "measured", "measured / plan"]
    return _table([*head, "loading: plan", "measured", "measured / plan"], rows)


def while_training(plan: LearnerMemory) -> int:
    """The plan's peak without that of loading."""
    return plan.lasting + plan.gradients + max(plan.activations + plan.gathered, plan.stepping)


def _pair(planned: int, measured: int) -> list[str]:
    return [f"{planned / GIB:.2f}", f"{measured / GIB:.2f}", f"{measured / planned:.2f}"]


def head_table(file: Path) -> str:
    rows = [
        [
            f"{line['tokens']:,}",
            *(f"{line[way]['bytes'] / MIB:,.0f} MiB, {line[way]['seconds']:.1f} s" for way in TITLES),
        ]
        for line in _lines(file)
    ]
    return _table(["tokens", *TITLES.values()], rows)


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])
