"""An evaluation in numbers: of each item, and of the whole suite. They are always computed from the outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

import numpy as np

from engine.statistics.bootstrap import bootstrap_mean
from engine.statistics.clustered import METHODS, success_interval
from engine.statistics.pass_at_k import shown_k, suite_pass_all_k, suite_pass_at_k
from engine.statistics.proportions import mean_of_rates
from engine.suites.outcomes import Outcome, in_suite_order
from engine.suites.suite import Suite, SuiteItem


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSummary:
    """One item. Rates are 0 to 1 over scored episodes, with 95% intervals over problems; None while nothing is
    scored."""

    item: str
    problems: int
    samples: int
    planned: int  # episodes
    played: int
    scored: int
    successes: int
    success: float | None
    low: float | None
    high: float | None
    interval: str  # method
    pass_at: dict[str, float]  # by k as text; empty until every episode has a score
    pass_all: dict[str, float]
    mean_return: float | None
    return_low: float | None
    return_high: float | None
    mean_turns: float | None
    turns: int
    actions: int
    tokens: int | None  # that were sampled
    prompt_tokens: int | None
    responses: int
    malformed: int
    trained_on: int | None  # episodes of problems that the model's run trained on
    stops: dict[str, int]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteSummary:
    """`success` is the mean over items, each with the same weight, once every item has a score."""

    planned: int
    played: int
    scored: int
    successes: int
    success: float | None
    low: float | None
    high: float | None
    items: list[ItemSummary]

    def fields(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bits:
    """An item's outcomes as bits: of problem p and sample s at position p * samples + s, the first bit the highest."""

    solved: bytes
    scored: bytes


def summarise(outcomes: Iterable[Outcome], suite: Suite) -> SuiteSummary:
    matrices = in_suite_order(outcomes, suite)
    items = [_item(item, matrices[item.name]) for item in suite.items]
    rates = [
        (item.success, item.low, item.high)
        for item in items
        if item.success is not None and item.low is not None and item.high is not None
    ]
    whole = mean_of_rates(rates) if len(rates) == len(items) else None
    return SuiteSummary(
        planned=sum(item.planned for item in items),
        played=sum(item.played for item in items),
        scored=sum(item.scored for item in items),
        successes=sum(item.successes for item in items),
        success=fmean(rate for rate, _, _ in rates) if whole else None,
        low=whole.low if whole else None,
        high=whole.high if whole else None,
        items=items,
    )


def bits_of(outcomes: Iterable[Outcome], suite: Suite) -> dict[str, Bits]:
    """By item."""
    found = {}
    for name, rows in in_suite_order(outcomes, suite).items():
        flat = [outcome for row in rows for outcome in row]
        found[name] = Bits(
            solved=_packed([bool(outcome and outcome.success) for outcome in flat]),
            scored=_packed([outcome is not None and outcome.scored for outcome in flat]),
        )
    return found


def _packed(values: Sequence[bool]) -> bytes:
    return np.packbits(np.array(values, dtype=bool)).tobytes()


def _item(item: SuiteItem, rows: list[list[Outcome | None]]) -> ItemSummary:
    played = [outcome for row in rows for outcome in row if outcome is not None]
    scored = [[outcome for outcome in row if outcome is not None and outcome.scored] for row in rows]
    clusters = [[float(bool(outcome.success)) for outcome in row] for row in scored if row]
    returns = [[outcome.episode_return or 0.0 for outcome in row] for row in scored if row]
    counts = [(len(row), int(sum(row))) for row in clusters]
    count = sum(map(len, clusters))
    known = success_interval(clusters) if clusters else None
    complete = count == item.episodes
    is_over = len(played) == item.episodes and len(returns) > 1  # a bootstrap takes too long for each report
    differ = len({fmean(row) for row in returns}) > 1  # if not, it says nothing of other problems
    ends = bootstrap_mean(returns, seed=min(item.seeds)) if is_over and differ else (None, None)
    return ItemSummary(
        item=item.name,
        problems=len(item.problems),
        samples=item.samples,
        planned=item.episodes,
        played=len(played),
        scored=count,
        successes=sum(successes for _, successes in counts),
        success=known.rate if known else None,
        low=known.low if known else None,
        high=known.high if known else None,
        interval=METHODS[known.method] if known else "",
        pass_at={str(k): suite_pass_at_k(counts, k) or 0.0 for k in shown_k(item.samples)} if complete else {},
        pass_all={str(k): suite_pass_all_k(counts, k) or 0.0 for k in shown_k(item.samples)} if complete else {},
        mean_return=fmean(value for row in returns for value in row) if returns else None,
        return_low=ends[0],
        return_high=ends[1],
        mean_turns=fmean(outcome.turns for row in scored for outcome in row) if returns else None,
        turns=sum(outcome.turns for outcome in played),
        actions=sum(outcome.actions for outcome in played),
        tokens=_sum([outcome.tokens for outcome in played]),
        prompt_tokens=_sum([outcome.prompt_tokens for outcome in played]),
        responses=sum(outcome.turns for outcome in played),
        malformed=sum(outcome.malformed for outcome in played),
        trained_on=_sum([None if one.trained_on is None else int(one.trained_on) for row in scored for one in row]),
        stops=dict(sorted(Counter(outcome.stop for outcome in played).items())),
        seconds=sum(outcome.seconds for outcome in played),
    )


def _sum(counts: list[int | None]) -> int | None:
    """None where one is not known, or where there are none."""
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None
