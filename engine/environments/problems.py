"""Which problems an environment has, and how training and evaluation are kept from sharing any.

A problem is identified by a hash of its canonical start. Environments with `split_by` hash keep a fifth of all
problems, chosen by that hash, for evaluation: the seeds of a run are mapped to seeds of problems on the right side.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from engine.environments.base import Environment, Split

HELD_OUT_EVERY = 5  # one problem of this many is held out
TRIES = 400  # with a fifth on the right side, all fail with a probability of 10^-39
_UNSPLIT: set[tuple[str, str, Split]] = set()  # kinds, parameters and splits of which no problem was found


def problem_id(environment: Environment) -> int:
    """A 63-bit hash of the problem that the environment has just been reset to."""
    text = environment.problem().encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:8]) >> 1


def split_of_problem(identity: int) -> Split:
    return "held_out" if identity % HELD_OUT_EVERY == 0 else "train"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemStart:
    """An environment after its reset. `seed` is its problem's, `in_split` whether it is of the requested split."""

    observation: str
    seed: int
    problem: int
    in_split: bool


def reset_in_split(
    environment: Environment, *, seed: int, split: Split, chance_seed: Callable[[int], int] = lambda seed: seed
) -> ProblemStart:
    """Resets to a problem of `split`: the one of `seed`, or of the first of its successors that is of the split.

    If none of 400 is, as where all seeds have the same problem, it is that of `seed` itself. `chance_seed` gives the
    seed of chance for a problem's seed.
    """

    def start(candidate: int, *, in_split: bool) -> ProblemStart:
        options: dict[str, Any] = {"chance_seed": chance_seed(candidate), "split": split}
        observation, _ = environment.reset(seed=candidate, options=options)
        problem = problem_id(environment)
        in_split = in_split or (environment.split_by == "hash" and split_of_problem(problem) == split)
        return ProblemStart(observation=observation, seed=candidate, problem=problem, in_split=in_split)

    searched = (environment.kind, environment.config.model_dump_json(), split)
    if environment.split_by != "hash" or searched in _UNSPLIT:
        return start(seed, in_split=environment.split_by == "own")
    for attempt in range(TRIES):
        found = start(successor(seed, attempt), in_split=False)
        if found.in_split:
            return found
    _UNSPLIT.add(searched)
    return start(seed, in_split=False)


@lru_cache(maxsize=65536)
def successor(seed: int, attempt: int) -> int:
    """The seed to try after `attempt` others: `seed` itself first, then hashes of both, below 2^32."""
    if attempt == 0:
        return seed
    return int(np.random.SeedSequence([seed, attempt]).generate_state(1)[0])
