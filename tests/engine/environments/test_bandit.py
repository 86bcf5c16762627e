"""The bandit's arms: names by seed, luck by chance seed, expected values as said."""

from __future__ import annotations

import pytest

from engine.environments import make_environment
from engine.environments.bandit import TEST_PAIRS, TRAIN_PAIRS
from engine.environments.base import Environment


def best_arm(bandit: Environment) -> int:
    return (bandit.solution() or [])[0]


@pytest.mark.parametrize(("split", "pairs"), [("train", TRAIN_PAIRS), ("test", TEST_PAIRS)])
def test_every_pair_of_a_split_appears_in_both_orders_and_none_of_the_other(
    split: str, pairs: tuple[tuple[str, str], ...]
) -> None:
    bandit = make_environment("bandit", split=split)
    seen = set()
    for seed in range(600):
        bandit.reset(seed=seed)
        seen.add(tuple(bandit.action_names()))
    assert seen == {*pairs, *((risky, safe) for safe, risky in pairs)}


def test_there_are_12_pairs_to_train_on_and_8_others_to_test_on() -> None:
    assert (len(TRAIN_PAIRS), len(TEST_PAIRS)) == (12, 8)
    names = [name for pair in TRAIN_PAIRS + TEST_PAIRS for name in pair]
    assert len(set(names)) == 40


def test_the_risky_arm_pays_a_quarter_of_the_time_and_the_safe_one_always() -> None:
    bandit = make_environment("bandit")
    bandit.reset(seed=1)
    best = best_arm(bandit)
    risky, safe = [], []
    for luck in range(2000):
        bandit.reset(seed=1, options={"chance_seed": luck})
        risky.append(float(bandit.step(best)[1]))
        bandit.reset(seed=1, options={"chance_seed": luck})
        safe.append(float(bandit.step(1 - best)[1]))
    # 0.25 * 1.0; the standard error is sqrt(0.25 * 0.75 / 2000) = 0.0097
    assert sum(risky) / 2000 == pytest.approx(0.25, abs=0.04)
    assert set(risky) == {0.0, 1.0}
    assert set(safe) == {0.1}


def test_the_members_of_a_group_share_the_arms_and_not_the_luck() -> None:
    bandit = make_environment("bandit")
    prompts, rewards = set(), set()
    for member in range(32):
        prompts.add(bandit.reset(seed=5, options={"chance_seed": 5 * 1009 + member})[0])
        rewards.add(bandit.step(best_arm(bandit))[1])
    assert len(prompts) == 1
    assert rewards == {0.0, 1.0}


def test_the_risky_name_is_the_gamble() -> None:
    bandit = make_environment("bandit")
    risky_names = {risky for _, risky in TRAIN_PAIRS}
    for seed in range(30):
        bandit.reset(seed=seed)
        assert bandit.action_names()[best_arm(bandit)] in risky_names


def test_reversed_names_swap_which_arm_is_the_gamble() -> None:
    plain, swapped = make_environment("bandit"), make_environment("bandit", reversed=True)
    for seed in range(20):
        plain.reset(seed=seed)
        swapped.reset(seed=seed)
        assert set(plain.action_names()) == set(swapped.action_names())
        assert swapped.action_names()[best_arm(swapped)] != plain.action_names()[best_arm(plain)]


def test_success_is_the_better_arm_whatever_it_paid() -> None:
    bandit = make_environment("bandit", risky_probability=0.0)
    bandit.reset(seed=1)
    _, reward, terminated, _, info = bandit.step(best_arm(bandit))
    assert (reward, terminated, info["success"]) == (0.1, True, True)


def test_after_the_pull_the_text_and_the_drawing_tell_the_reward() -> None:
    bandit = make_environment("bandit", safe_reward=0.5)
    text, _ = bandit.reset(seed=1)
    names = bandit.action_names()
    assert text == f"Arms: {names[0]}, {names[1]}"
    safe = best_arm(bandit)  # 0.5 for sure is more than the gamble's 0.25 * 1.0
    assert bandit.step(safe)[0] == f"{names[safe]}: 0.5 points"
    assert [arm["reward"] for arm in bandit.drawing()["arms"]] == [0.5 if i == safe else None for i in range(2)]
    assert [arm["pulled"] for arm in bandit.drawing()["arms"]] == [i == safe for i in range(2)]


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, "One arm always pays 0.1. The other is a gamble: it may pay more, or nothing."),
        ({"safe_reward": 2.0}, "One arm always pays 2. The other is a gamble: it may pay 1, or nothing."),
        ({"risky_probability": 0.0}, "One arm always pays 0.1. The other always pays 0."),
        ({"risky_probability": 1.0}, "One arm always pays 0.1. The other always pays 1."),
    ],
)
def test_the_description_is_true_for_its_numbers(parameters: dict[str, float], said: str) -> None:
    assert make_environment("bandit", **parameters).describe() == said
