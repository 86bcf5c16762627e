"""Evaluations and their items as pages show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.suites.suite import Suite, SuiteItem
from webapp.rates import Rate, percent
from webapp.suites.models import ItemResult, SuiteEvaluation


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownItem:
    """`result` is None until something of the item has been played."""

    order: int
    item: SuiteItem
    result: ItemResult | None

    @property
    def rate(self) -> Rate | None:
        return rate_of(self.result) if self.result else None

    @property
    def played(self) -> int:
        return self.result.played if self.result else 0

    @property
    def unscored(self) -> int:
        return self.result.played - self.result.scored if self.result else 0

    @property
    def malformed(self) -> str:
        if self.result is None or self.result.well_formed is None:
            return ""
        return f"{100 * (1 - self.result.well_formed):.1f}%"

    @property
    def tokens(self) -> float | None:
        """Per episode."""
        if self.result is None or self.result.tokens is None or not self.result.played:
            return None
        return self.result.tokens / self.result.played

    @property
    def pass_at(self) -> list[tuple[str, str, str]]:
        """k, pass@k and pass^k in percent, of items with several samples."""
        if self.result is None or self.item.samples < 2:
            return []
        return [(k, percent(rate), percent(self.result.pass_all[k])) for k, rate in self.result.pass_at.items()]


def rate_of(row: ItemResult | SuiteEvaluation) -> Rate | None:
    if row.success is None or row.low is None or row.high is None:
        return None
    return Rate(row.success, row.low, row.high)


def shown_items(evaluation: SuiteEvaluation, suite: Suite) -> list[ShownItem]:
    results = {result.name: result for result in evaluation.items.all()}
    return [ShownItem(order=order, item=item, result=results.get(item.name)) for order, item in enumerate(suite.items)]


@dataclass(frozen=True, slots=True)
class Row:
    """An evaluation in a list, with its rate."""

    evaluation: SuiteEvaluation

    @property
    def rate(self) -> Rate | None:
        return rate_of(self.evaluation)


def rows(evaluations: Sequence[SuiteEvaluation]) -> list[Row]:
    return [Row(evaluation) for evaluation in evaluations]
