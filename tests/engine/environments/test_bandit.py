"""The bandit's arms: names by seed, luck by chance seed, expected values as said."""

from __future__ import annotations

import pytest

from engine.environments import make_environment
from engine.environments.bandit import TEST_PAIRS, TRAIN_PAIRS


@pytest.mark.parametrize(("split", "pairs"), [("train", TRAIN_PAIRS), ("test", TEST_PAIRS)])
def test_every_pair_of_a_split_appears_and_none_of_the_other(split: str, pairs: tuple[tuple[str, str], ...]) -> None:
    bandit = make_environment("bandit", split=split)
    seen = set()
    for seed in range(400):
        bandit.reset(seed=seed)
        seen.add(frozenset(bandit.action_names()))
    assert seen == {frozenset(pair) for pair in pairs}


def test_the_risky_arm_pays_a_quarter_of_the_time_and_the_safe_one_always() -> None:
    bandit = make_environment("bandit")
    bandit.reset(seed=1)
    best = (bandit.solution() or [0])[0]
    risky = []
    for luck in range(2000):
        bandit.reset(seed=1, options={"chance_seed": luck})
        risky.append(bandit.step(best)[1])
    # 0.25 * 1.0; the standard error is sqrt(0.25 * 0.75 / 2000) = 0.0097
    assert sum(risky) / 2000 == pytest.approx(0.25, abs=0.04)
    bandit.reset(seed=1)
    assert bandit.step(1 - best)[1] == 0.1


def test_reversed_names_swap_which_arm_is_the_gamble() -> None:
    plain, swapped = make_environment("bandit"), make_environment("bandit", reversed=True)
    for seed in range(20):
        plain.reset(seed=seed)
        swapped.reset(seed=seed)
        best = plain.action_names()[(plain.solution() or [0])[0]]
        assert swapped.action_names()[(swapped.solution() or [0])[0]] != best


def test_success_is_the_better_arm_whatever_it_paid() -> None:
    bandit = make_environment("bandit", risky_probability=0.0)
    bandit.reset(seed=1)
    safe = (bandit.solution() or [0])[0]
    _, reward, terminated, _, info = bandit.step(safe)
    assert (reward, terminated, info["success"]) == (0.1, True, True)
