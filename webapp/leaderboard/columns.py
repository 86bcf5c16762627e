"""The columns of a leaderboard: what each is called, which field of an entry it shows, and what it means.

The page, its downloads and the API have the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from engine.statistics.measures import PASS_ALL, PASS_AT
from webapp.leaderboard.models import Entry

Unit = Literal["share", "number", "count", "hours", "text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """`measure` is its name in `Entry.measures`, with `{}` for the k of pass@k."""

    key: str
    title: str
    field: str
    unit: Unit
    meaning: str
    measure: str = ""
    ascending: bool = False  # which way it is sorted first
    show: str = "results"  # the set of columns that it is in; empty: always shown

    def is_known(self, entry: Entry) -> bool:
        return getattr(entry, self.field) is not None

    def measure_of(self, entry: Entry) -> str:
        return self.measure.format(entry.samples)


def _all() -> list[Column]:
    return [
        Column(
            key="name",
            title="Model",
            field="name",
            unit="text",
            meaning="The evaluated model.",
            ascending=True,
            show="",
        ),
        Column(
            key="success",
            title="Success",
            field="success",
            unit="share",
            show="",
            meaning="Share of solved episodes, the mean over environments, with a 95% interval over problems.",
        ),
        Column(
            key="return",
            title="Return",
            field="mean_return",
            unit="number",
            measure="return",
            meaning="Mean return of an episode.",
        ),
        Column(
            key="turns",
            title="Turns",
            field="turns",
            unit="number",
            measure="turns",
            ascending=True,
            meaning="Mean number of turns of an episode.",
        ),
        Column(
            key="tokens",
            title="Tokens",
            field="tokens",
            unit="number",
            measure="tokens",
            ascending=True,
            meaning="Mean number of tokens sampled in an episode.",
        ),
        Column(
            key="format",
            title="Well-formed",
            field="well_formed",
            unit="share",
            measure="well_formed",
            meaning="Share of responses in the requested format.",
        ),
        Column(
            key="pass_at",
            title="pass@k",
            field="pass_at",
            unit="share",
            measure=PASS_AT,
            meaning="Chance that at least one of k samples of a problem succeeds; k is the number of samples.",
        ),
        Column(
            key="pass_all",
            title="pass^k",
            field="pass_all",
            unit="share",
            measure=PASS_ALL,
            meaning="Chance that all k samples of a problem succeed.",
        ),
        Column(
            key="seen",
            title="Seen",
            field="seen",
            unit="share",
            ascending=True,
            meaning="Share of episodes whose problem was trained on, so that they are not held out.",
        ),
        Column(
            key="updates",
            title="Updates",
            field="updates",
            unit="count",
            ascending=True,
            show="cost",
            meaning="Training steps up to the checkpoint, with those of the runs it was forked from.",
        ),
        Column(
            key="env_turns",
            title="Env. turns",
            field="environment_turns",
            unit="count",
            ascending=True,
            show="cost",
            meaning="Turns played in training, up to the checkpoint.",
        ),
        Column(
            key="generated",
            title="Tokens generated",
            field="generated_tokens",
            unit="count",
            ascending=True,
            show="cost",
            meaning="Tokens sampled in training, up to the checkpoint.",
        ),
        Column(
            key="hours",
            title="Device-hours",
            field="device_hours",
            unit="hours",
            ascending=True,
            show="cost",
            meaning="Training time times devices, up to the checkpoint.",
        ),
        Column(
            key="half",
            title="Updates to 50%",
            field="half_updates",
            unit="count",
            ascending=True,
            show="cost",
            meaning="Training steps to the first evaluation with 50% success on the run's own held-out problems.",
        ),
        Column(
            key="half_hours",
            title="Hours to 50%",
            field="half_hours",
            unit="hours",
            ascending=True,
            show="cost",
            meaning="Device-hours to the first evaluation with 50% success on the run's own held-out problems.",
        ),
    ]


COLUMNS = {column.key: column for column in _all()}
SETS = {"results": "Results", "cost": "Training cost"}
MEASURES = [key for key, column in COLUMNS.items() if column.measure or key == "success"]
COSTS = ("updates", "env_turns", "generated", "hours")  # that a measure can be charted against


def shown_in(show: str, *, samples: int) -> list[Column]:
    """The columns of a set, with k as the number of samples; pass@k and pass^k need several."""
    found = [column for column in COLUMNS.values() if column.show == show]
    if samples < 2:
        return [column for column in found if column.measure not in (PASS_AT, PASS_ALL)]
    k = {PASS_AT: PASS_AT.format(samples), PASS_ALL: PASS_ALL.format(samples)}
    return [replace(column, title=k.get(column.measure, column.title)) for column in found]
