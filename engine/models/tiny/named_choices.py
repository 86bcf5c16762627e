"""Multiple-choice questions whose player answers with a choice itself, not with its letter: the small model computes
more reliably than it looks up a letter."""

from __future__ import annotations

import numpy as np

from engine.environments.base import Solution
from engine.environments.questions.sets import LETTERS
from engine.environments.static import Static


class NamedChoices(Static):
    """Static question answering. Random actions are one of the choices."""

    def solution(self) -> Solution:
        return [] if self.solved else [self.question.choices[LETTERS.index(self.question.answer)]]

    def random_action(self, rng: np.random.Generator) -> str:
        return self.question.choices[int(rng.integers(len(self.question.choices)))]
