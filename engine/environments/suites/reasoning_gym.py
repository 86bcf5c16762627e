"""The data sets of reasoning-gym."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field

from engine.environments.base import UNKNOWN, EnvironmentParameters, Solution
from engine.environments.loading import loaded_once
from engine.environments.suites.answer_guards import Guard, guard_of
from engine.environments.suites.installed import imported
from engine.environments.suites.randomness import Randomness
from engine.environments.suites.single_turn import SingleTurn
from engine.errors import ConfigError

EXTRA = "reasoning-gym"
# what scorers raise for text that they cannot read, as the one of prime_factorization does for words
UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, SyntaxError, TypeError, ValueError)


class ReasoningGymParameters(EnvironmentParameters):
    dataset: str = Field(
        "chain_sum",
        pattern=r"^[a-z0-9_]+$",
        max_length=100,
        description="Name of a data set, such as chain_sum, leg_counting or simple_equations.",
    )
    options: dict[str, Any] = Field(
        default_factory=dict, description='Settings of the data set, as JSON: {"max_terms": 3}.'
    )
    items: int = Field(
        10_000,
        ge=2,
        le=1_000_000,
        description="Items of the data set to use; some data sets prepare all of them at once.",
    )
    success_score: float = Field(1.0, gt=0, le=1, description="Minimum score that counts as success.")


class ReasoningGym(SingleTurn):
    """A data set of reasoning-gym: more than a hundred generators of questions with a scorer each.

    Description: A question of algebra, algorithms, arithmetic, code, cognition, games, geometry, graphs, induction,
    logic or probability. The package is an extra; nothing is downloaded.

    Actions: Any text; all of the model's answer is scored. The scorers of nine data sets would evaluate it as Python:
    there it has to be a literal or a formula, else it is invalid and earns 0. `codeio` and `composite` are refused.

    Observations: The question.

    Starting state: The seed, modulo `items`, is the index of an item of the data set with seed 0. A fifth of the
    questions is kept for evaluation.

    Rewards: The score of the data set's own scorer, from 0 to 1. Many give a little, such as 0.01, for any text.

    Episode end: After one response.

    Arguments: `dataset`, `options`, `items`, `success_score`.

    Differences from RAGEN: RAGEN has no such adapter.
    """

    kind: ClassVar[str] = "reasoning_gym"
    title: ClassVar[str] = "Reasoning Gym"
    summary: ClassVar[str] = "One of more than a hundred data sets of reasoning-gym: a question, scored by its rules."
    Config = ReasoningGymParameters
    needs: ClassVar[str] = f"the extra {EXTRA}"
    default_instruction: ClassVar[str] = "Answer the question. Give only what it asks for."
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    config: ReasoningGymParameters

    def __init__(self, config: ReasoningGymParameters) -> None:
        super().__init__(config)
        self.source = _source(config.dataset, json.dumps(config.options, sort_keys=True), config.items)
        self.randomness = Randomness()
        self.item: dict[str, Any] = {}
        self.known_solution: Solution = UNKNOWN

    def ask(self, seed: int) -> str:
        self.randomness.seed(seed)
        with self.randomness.installed():
            self.item = self.source.dataset[seed % self.config.items]
        self.known_solution = self._solution()
        return str(self.item["question"])

    def score_of(self, answer: str) -> float | None:
        if not self.source.guard(answer):
            return None
        try:
            with self.randomness.installed():
                score = float(self.source.dataset.score_answer(answer, self.item))
        except UNREADABLE:
            return None
        return min(1.0, max(0.0, score)) if math.isfinite(score) else 0.0

    def is_success(self, score: float) -> bool:
        return score >= self.config.success_score

    def solution(self) -> Solution:
        return UNKNOWN if self.over else self.known_solution

    def _solution(self) -> Solution:
        """The item's own answer, where its scorer takes it; some items have none, though others would do."""
        answer = self.item.get("answer")
        if not isinstance(answer, str) or not self.is_success(self.score_of(answer.strip()) or 0.0):
            return UNKNOWN
        return [answer]


@dataclass(frozen=True, slots=True)
class _Source:
    dataset: Any
    guard: Guard


@loaded_once(8)  # some read files or prepare all items when they are made
def _source(name: str, options: str, items: int) -> _Source:
    library = imported("reasoning_gym", extra=EXTRA)
    known = library.factory.DATASETS
    if name not in known:
        raise ConfigError(
            f"reasoning-gym has no data set {name!r}.", remedy=f"Choose one of: {', '.join(sorted(known))}."
        )
    randomness = Randomness()
    randomness.seed(0)
    try:
        guard = guard_of(name, known[name][0])
        with randomness.installed():
            dataset = library.create_dataset(name, **{**json.loads(options), "seed": 0, "size": items})
    except Exception as error:  # whatever a configuration raises
        raise ConfigError(
            f"The data set {name} of reasoning-gym cannot be used with {options}: {error}",
            remedy="Correct parameters.options, or use another data set.",
        ) from error
    return _Source(dataset, guard)
