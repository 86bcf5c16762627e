"""The problems that a run has trained on, by their hashes, so that an evaluation can state how many of its own it has
seen."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

FILE = "problems.npy"


class SeenProblems:
    """A set of problem hashes, as `engine.environments.problems.problem_id` computes them."""

    def __init__(self, problems: Iterable[int] = ()) -> None:
        self.problems = set(problems)

    def __len__(self) -> int:
        return len(self.problems)

    def __contains__(self, problem: object) -> bool:
        return problem in self.problems

    def add(self, problems: Iterable[int]) -> None:
        self.problems.update(problems)

    def write(self, checkpoint: Path) -> None:
        """Writes `problems.npy`, sorted hashes of 8 bytes each."""
        np.save(checkpoint / FILE, np.array(sorted(self.problems), dtype=np.uint64), allow_pickle=False)

    @classmethod
    def read(cls, checkpoint: Path) -> SeenProblems | None:
        """Those of a checkpoint; None if it does not have the file. `ValueError` for a damaged one."""
        try:
            return cls(np.load(checkpoint / FILE, allow_pickle=False).tolist())
        except FileNotFoundError:
            return None
