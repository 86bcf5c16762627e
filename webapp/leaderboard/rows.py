"""A row of a leaderboard: an entry, or a configuration with its training seeds; and its values column by column."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean

from engine.statistics.intervals import Interval
from engine.statistics.means import t_interval
from engine.statistics.measures import Estimate
from webapp.leaderboard.columns import Column
from webapp.leaderboard.models import Entry
from webapp.leaderboard.seed_rows import SeedGroup
from webapp.leaderboard.standings import Standing
from webapp.rates import Rate

BAR = 120  # width of the drawn scale from 0 to 1


@dataclass(kw_only=True)
class Row:
    """`entry` stands for the `members` of a group, which have different training seeds."""

    entry: Entry
    rank: int | None
    standing: Standing
    checkpoints: int = 1  # of its run that have an entry under this key
    group: SeedGroup | None = None
    members: list[Entry] = field(default_factory=list)
    problem_interval: Interval | None = None  # of a group

    @cached_property
    def seeds(self) -> int:
        """Training seeds that the row is the mean of."""
        return max(1, len(self.members))

    @cached_property
    def name(self) -> str:
        """The model, or of several seeds what they have in common."""
        return name_of(self.entry.name, self.entry.preset, self.entry.model, seeds=self.seeds)

    @cached_property
    def scores(self) -> list[float]:
        """Success of each training seed."""
        return [one.success for one in self.members or [self.entry]]

    @cached_property
    def success(self) -> float:
        return fmean(self.scores)

    @cached_property
    def interval(self) -> Interval | None:
        """The one that is drawn: over problems, and of several seeds over those; None where all of them are equal."""
        if self.seeds == 1:
            return Interval(self.entry.low, self.entry.high)
        over_seeds = t_interval(self.scores)
        return Interval(max(0.0, over_seeds.low), min(1.0, over_seeds.high)) if over_seeds else None

    def estimate(self, column: Column) -> Estimate | None:
        """The value of a column with its interval over problems, or over seeds where there are several; None if one of
        them is not known."""
        if column.key == "success":
            return Estimate(self.success, *(self.interval or (None, None)))
        values = [getattr(entry, column.field) for entry in self.members or [self.entry]]
        known = [float(value) for value in values if value is not None]
        if len(known) != len(values) or not known:
            return None
        if len(known) > 1:
            ends = t_interval(known)
            if ends is not None and column.unit == "share":
                ends = Interval(max(0.0, ends.low), min(1.0, ends.high))
            return Estimate(fmean(known), *(ends or (None, None)))
        return Estimate(known[0], *_ends(self.entry, column))

    @cached_property
    def rate(self) -> Rate:
        """Success as it is drawn."""
        return Rate(self.success, *(self.interval or (self.success, self.success)), width=BAR)

    @cached_property
    def dots(self) -> list[str]:
        """Positions of the training seeds."""
        return [f"{score * BAR:.1f}" for score in self.scores] if self.seeds > 1 else []


def name_of(name: str, preset: str, model: str, *, seeds: int) -> str:
    return name if seeds == 1 else preset or model or name


def _ends(entry: Entry, column: Column) -> tuple[float | None, float | None]:
    found = entry.measures.get(column.measure_of(entry)) if column.measure else None
    return (found[1], found[2]) if found else (None, None)
