"""Episodes of one response: a question that another package asks and scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from engine.environments import page_drawing as draw
from engine.environments.base import Drawing, Environment, EnvironmentParameters, Info, Reduction, step_info
from engine.environments.spaces import AnyText

LONGEST_SHOWN = 400


class SingleTurn(Environment):
    """What the adapters of question sets share: the first action is scored and ends the episode."""

    separator: ClassVar[str | None] = None
    answer_form: ClassVar[str] = "answer"
    info_metrics: ClassVar[Mapping[str, Reduction]] = {"score": "last"}
    default_budget: ClassVar[dict[str, int]] = {
        "max_turns": 1,
        "max_actions_per_turn": 1,
        "max_actions": 1,
        "max_response_tokens": 400,
    }

    def __init__(self, config: EnvironmentParameters) -> None:
        super().__init__(config)
        self.action_space = AnyText()
        self.observation_space = AnyText(min_length=1)
        self.question = ""
        self.given: str | None = None
        self.score = 0.0
        self.over = True

    @abstractmethod
    def ask(self, seed: int) -> str:
        """Chooses the problem of `seed` and returns its question."""

    @abstractmethod
    def score_of(self, answer: str) -> float | None:
        """The score of an answer; None if it was not scored, as it is nothing that may be."""

    @abstractmethod
    def is_success(self, score: float) -> bool: ...

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        seed = self.seeded(seed)
        self.question = self.ask(seed).strip() or "(empty)"
        self.given, self.score, self.over = None, 0.0, False
        return self.render(), {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        self.given = self.checked_text(action, over=self.over).strip()
        score = self.score_of(self.given)
        self.score, self.over = score or 0.0, True
        success = self.is_success(self.score)
        info = step_info(valid=score is not None, effective=True, success=success, score=self.score)
        return self.render(), self.score, True, False, info

    def action_names(self) -> None:
        return None

    def describe(self) -> str:
        return "There is one response, whose score is the reward."

    def render(self) -> str:
        return self.question if self.given is None else f"{self.question}\n\n{self._outcome()}"

    def drawing(self) -> Drawing:
        return draw.page(self.title, draw.text(self.question), draw.text("" if self.given is None else self._outcome()))

    def problem(self) -> str:
        return self.question

    def random_action(self, rng: np.random.Generator) -> str:
        """A number below 100, or a word of the question."""
        words = self.question.split()
        if not words or rng.random() < 0.5:
            return str(rng.integers(100))
        return words[int(rng.integers(len(words)))]

    def _outcome(self) -> str:
        line = " ".join((self.given or "").split()) or "(empty)"
        shown = line if len(line) <= LONGEST_SHOWN else f"{line[:LONGEST_SHOWN]}..."
        return f"{shown}: score {self.score:g}"
