"""Entries grouped by configuration, as columns: a leaderboard has thousands of groups, and shows fifty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from django.db.models import F, QuerySet
from numpy.typing import NDArray

from webapp.leaderboard.models import Entry
from webapp.leaderboard.seed_rows import FEWEST, Listed, SeedGroup

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
NO_SEED = -1


@dataclass(frozen=True)
class Configurations:
    """`keys` and `values` of the measure have the members of one group after the other, by seed; group g begins at
    `starts[g]`. NaN is unknown."""

    keys: Integers
    values: Floats
    starts: Integers
    fewer_is_better: bool

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def sizes(self) -> Integers:
        return np.diff(self.starts, append=len(self.keys))

    @cached_property
    def first_keys(self) -> Integers:
        """Of the members that stand for their group."""
        return self.keys[self.starts]

    @cached_property
    def best_first(self) -> Integers:
        """The groups in order; of equal ones the oldest first, and those without a mean last."""
        order: Integers = np.lexsort((self.first_keys, self._worth))
        return order

    def sorted_by(self, values: Mapping[int, float | None], *, ascending: bool) -> list[int]:
        """The groups by the mean of their members' values, unknown ones last; equal ones are best first."""
        means = self.means(np.array([values[key] for key in self.keys.tolist()], np.float64))[self.best_first]
        order: list[int] = self.best_first[np.argsort(means if ascending else -means, kind="stable")].tolist()
        return order

    def sorted_by_text(self, texts: Mapping[int, str], *, ascending: bool) -> list[int]:
        """The groups by the text of their first member; equal ones are best first."""
        firsts = self.first_keys.tolist()
        return sorted(self.best_first.tolist(), key=lambda group: texts[firsts[group]], reverse=not ascending)

    def means(self, values: Floats) -> Floats:
        """Of each group (G,), from a value of each member; NaN where one of them is not known."""
        return np.add.reduceat(values, self.starts) / self.sizes if len(self) else np.empty(0)

    def members(self, group: int) -> list[int]:
        start = self.starts[group]
        found: list[int] = self.keys[start : start + self.sizes[group]].tolist()
        return found

    def group(self, index: int) -> SeedGroup:
        start = self.starts[index]
        values = self.values[start : start + self.sizes[index]].tolist()
        pairs = zip(self.members(index), values, strict=True)
        members = [Listed(pk, None if np.isnan(value) else value) for pk, value in pairs]
        worth = self._worth[index]
        rank = None if np.isnan(worth) else int(np.searchsorted(self._sorted_worth, worth)) + 1
        return SeedGroup(members=members, rank=rank)

    def with_member(self, key: int) -> int | None:
        """The group of an entry; None if it has none, as a newer checkpoint of its seed counts."""
        found = np.flatnonzero(self.keys == key)
        return int(np.searchsorted(self.starts, found[0], side="right")) - 1 if len(found) else None

    def best_compared(self) -> int | None:
        """The best group that can be compared: with several seeds, and a value of each."""
        compared = (self.sizes >= FEWEST) & ~np.isnan(self._worth)
        found = self.best_first[compared[self.best_first]]
        return int(found[0]) if len(found) else None

    @cached_property
    def _worth(self) -> Floats:
        """Less is better."""
        means = self.means(self.values)
        return means if self.fewer_is_better else -means

    @cached_property
    def _sorted_worth(self) -> Floats:
        return np.sort(self._worth)


def configurations(matching: QuerySet[Entry], field: str, *, fewer_is_better: bool = False) -> Configurations:
    """With `field` as their value. Of a seed with several checkpoints the newest counts. One without a configuration,
    such as an endpoint, is a group of its own."""
    by_age = matching.order_by(F("step").asc(nulls_first=True), "pk")
    rows = list(by_age.values_list("pk", "configuration", "training_seed", field))
    if not rows:
        return Configurations(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64), fewer_is_better)
    keys, names, seeds, values = zip(*rows, strict=True)
    groups = _numbered([name or key for key, name in zip(keys, names, strict=True)])
    seed = np.array([NO_SEED if one is None else one for one in seeds], np.int64)
    order = np.lexsort((seed, groups))  # stable: the newest of a seed is its last
    newest = order[_changes(groups[order]) | _changes(seed[order])]
    return Configurations(
        keys=np.array(keys, np.int64)[newest],
        values=np.array(values, np.float64)[newest],
        starts=np.flatnonzero(np.diff(groups[newest], prepend=-1)),
        fewer_is_better=fewer_is_better,
    )


def _numbered(names: Sequence[str | int]) -> Integers:
    known: dict[str | int, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], np.int64)


def _changes(values: Integers) -> NDArray[np.bool_]:
    """Whether each is the last of equal neighbours."""
    return np.append(values[1:] != values[:-1], True)
