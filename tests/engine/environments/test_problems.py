"""Training and evaluation never share a problem, whatever their seeds."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from engine.environments import make_environment
from engine.environments.bandit import TEST_PAIRS, TRAIN_PAIRS, Bandit
from engine.environments.frozen_lake import FrozenLake, FrozenLakeParameters
from engine.environments.problems import (
    HELD_OUT_EVERY,
    ProblemStart,
    problem_id,
    reset_in_split,
    split_of_problem,
    successor,
)

TRAINING, HELD_OUT = range(300), range(1_000_000_000, 1_000_000_150)
SMALL: list[tuple[str, dict[str, Any]]] = [
    ("frozen_lake", {"size": 3}),
    ("frozen_lake", {"frozen_probability": 0.9}),
    ("sokoban", {"rows": 5, "columns": 5}),
    ("bandit", {}),
]


def started(kind: str, parameters: dict[str, Any], seeds: range, split: Any) -> list[ProblemStart]:
    environment = make_environment(kind, **parameters)
    return [reset_in_split(environment, seed=seed, split=split) for seed in seeds]


@pytest.mark.parametrize(("kind", "parameters"), SMALL)
def test_small_spaces_have_no_problem_on_both_sides(kind: str, parameters: dict[str, Any]) -> None:
    trained = started(kind, parameters, TRAINING, "train")
    held_out = started(kind, parameters, HELD_OUT, "held_out")
    assert all(start.in_split for start in [*trained, *held_out])
    assert not {start.problem for start in trained} & {start.problem for start in held_out}


def test_the_seed_that_it_returns_starts_the_same_problem_by_itself() -> None:
    lake = make_environment("frozen_lake", size=3)
    for start in started("frozen_lake", {"size": 3}, HELD_OUT, "held_out")[:20]:
        assert lake.reset(seed=start.seed)[0] == start.observation
        assert reset_in_split(lake, seed=start.seed, split="held_out").seed == start.seed


def test_a_seed_of_the_right_side_keeps_its_problem() -> None:
    lake = make_environment("frozen_lake")
    for seed in range(50):
        lake.reset(seed=seed)
        if split_of_problem(problem_id(lake)) == "train":
            assert reset_in_split(lake, seed=seed, split="train").seed == seed


def test_about_a_fifth_of_all_problems_is_held_out() -> None:
    lake = make_environment("frozen_lake", size=8)
    sides = []
    for seed in range(500):
        lake.reset(seed=seed)
        sides.append(split_of_problem(problem_id(lake)))
    # 500 draws with probability 1/5: a mean of 100 and a standard deviation of 9
    assert abs(sides.count("held_out") - 500 / HELD_OUT_EVERY) < 4 * 9


def test_how_a_problem_is_written_does_not_change_what_it_is() -> None:
    plain, listed = make_environment("frozen_lake"), make_environment("frozen_lake", format="coordinates")
    other = make_environment("sokoban", symbols={"wall": "W"})
    room = make_environment("sokoban")
    for seed in range(5):
        plain.reset(seed=seed), listed.reset(seed=seed), other.reset(seed=seed), room.reset(seed=seed)
        assert problem_id(plain) == problem_id(listed)
        assert problem_id(other) == problem_id(room)


def test_the_order_of_the_arms_does_not_make_another_problem() -> None:
    arms = make_environment("bandit")
    seen: dict[int, set[str]] = {}
    for seed in range(100):
        observation, _ = arms.reset(seed=seed)
        seen.setdefault(problem_id(arms), set()).add(observation)
    assert len(seen) == len(TRAIN_PAIRS)
    assert {len(observations) for observations in seen.values()} == {2}


def test_the_bandit_is_evaluated_on_names_that_it_never_trained_on() -> None:
    arms = make_environment("bandit")
    assert isinstance(arms, Bandit)
    for seed in range(40):
        reset_in_split(arms, seed=seed, split="held_out")
        assert tuple(sorted(arms.arms)) in {tuple(sorted(pair)) for pair in TEST_PAIRS}


class OneLake(FrozenLake):
    kind: ClassVar[str] = "one_lake"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        return super().reset(seed=3, options=options)


def test_a_space_of_one_problem_cannot_be_split_and_says_so() -> None:
    lake = OneLake(FrozenLakeParameters())
    found = {split: reset_in_split(lake, seed=9, split=split) for split in ("train", "held_out")}  # type: ignore[arg-type]
    assert sorted(start.in_split for start in found.values()) == [False, True]
    assert found["train"].problem == found["held_out"].problem


def test_seeds_to_try_next_fit_32_bits_and_differ() -> None:
    tried = [successor(2_000_000_000, attempt) for attempt in range(400)]
    assert tried[0] == 2_000_000_000
    assert len(set(tried)) == 400
    assert max(tried) < 2**32
