"""How thoughts are worded."""

from __future__ import annotations

from typing import Any

import numpy as np

PLAIN_WORDINGS = ("I try {plan}", "{plan}", "so {plan}")


def say(wordings: tuple[str, ...], rng: np.random.Generator, **words: Any) -> str:
    return wordings[int(rng.integers(len(wordings)))].format(**words)
