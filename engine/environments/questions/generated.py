"""Questions that are generated for a seed, by what made those that ship."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.environments.base import Split
from engine.environments.data.word_problems import is_held_out
from engine.environments.questions.sets import Question
from engine.errors import ConfigError

MOST_DRAWS = 20_000

Maker = Callable[[np.random.Generator], Question | None]  # None if what was drawn has numbers that are too large


def generated(make: Maker, seed: int, split: Split) -> Question:
    """The first question of the seed's sequence that is on the side of `split`, which its identity decides."""
    rng = np.random.default_rng([seed, 13])
    for _ in range(MOST_DRAWS):
        question = make(rng)
        if question is not None and is_held_out(question.identity) == (split == "held_out"):
            return question
    raise ConfigError(
        f"No question with numbers as small was found in {MOST_DRAWS:,} draws.", remedy="Raise generate_up_to."
    )
