"""Answers of the site about suites and evaluations on them."""

from __future__ import annotations

from pydantic import Field

from starboard_client.models import Answer

LIVE = frozenset({"queued", "running"})


class SuiteItem(Answer):
    name: str
    kind: str
    problems: int
    samples: int


class Suite(Answer):
    name: str
    title: str
    description: str
    version: int
    key: str
    frozen: bool = False
    episodes: int
    items: list[SuiteItem] = Field(default_factory=list)
    definition: str = ""


class SuiteList(Answer):
    suites: list[Suite]


class SuiteResult(Answer):
    """One item of an evaluation. Rates are from 0 to 1 with 95% intervals; None while nothing has a score."""

    name: str
    planned: int
    played: int
    scored: int
    successes: int
    success: float | None
    low: float | None
    high: float | None
    mean_return: float | None


class SuiteEvaluation(Answer):
    id: int
    suite: str
    version: int
    key: str
    state: str
    message: str
    policy: str
    model: str
    run: str | None
    run_name: str
    step: int | None
    weights: str
    planned: int
    played: int
    scored: int
    success: float | None
    low: float | None
    high: float | None

    @property
    def ended(self) -> bool:
        return self.state not in LIVE


class SuiteEvaluationDetail(SuiteEvaluation):
    items: list[SuiteResult]


class SuiteEvaluationPage(Answer):
    evaluations: list[SuiteEvaluation]
    next: int | None
