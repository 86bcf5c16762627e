"""The capture budget: what is always kept, what fills the rest, and that the lot is the seed's alone."""

from __future__ import annotations

from typing import Any

from engine.rollout.action_parser import ParsedResponse
from engine.rollout.capture import Reason, choose, counted
from engine.rollout.types import Trajectory, Turn

SEEDS = [1, 3, 11, 0]


def trajectory(*, group: int = 0, member: int = 0, reward: float = 0.0, unparsed: int = 0, **fields: Any) -> Trajectory:
    """As many turns as responses that were not understood, and one that was and earned `reward`."""
    cases = ["no_answer"] * unparsed + ["ok"]
    turns = [
        Turn(
            prompt_start=0, response_start=0, response_end=0, prompt="", messages=[], response="", executed=[],
            penalty=0.0, frames=[], parsed=ParsedResponse(thought="", actions=[], case=case),  # type: ignore[arg-type]
            reward=reward if case == "ok" else 0.0,
        )
        for case in cases
    ]  # fmt: skip
    made = Trajectory(environment="Lake", kind="frozen_lake", group=group, member=member, seed=group, **fields)
    made.turns = turns
    return made


def step(*groups: list[float]) -> list[Trajectory]:
    """A group for each list of rewards."""
    return [
        trajectory(group=group, member=member, reward=reward)
        for group, rewards in enumerate(groups)
        for member, reward in enumerate(rewards)
    ]


def but_the_lot(kept: dict[int, Reason]) -> dict[int, Reason]:
    """What was kept without the one that was drawn by lot, which a budget below twenty always has."""
    assert counted(kept)["sample"] == 1
    return {index: reason for index, reason in kept.items() if reason != "sample"}


def test_without_a_budget_all_are_kept_in_order() -> None:
    assert choose(step([0, 1], [1, 0]), most=0, seeds=SEEDS) == {0: "all", 1: "all", 2: "all", 3: "all"}


def test_a_budget_that_is_not_reached_drops_nothing() -> None:
    assert choose(step([0, 1]), most=2, seeds=SEEDS) == {0: "all", 1: "all"}


def test_the_best_and_the_worst_are_kept_and_their_groups_made_whole_first() -> None:
    # places: group 0 is 0..2, group 1 is 3..5, group 2 is 6..8, group 3 is 9..11; the best is 4 and the worst is 5
    found = choose(step([1, 2, 3], [1, 9, 0], [2, 3, 1], [1, 2, 3]), most=4, seeds=SEEDS)
    assert but_the_lot(found) == {3: "group", 4: "best", 5: "worst"}


def test_the_group_of_the_best_comes_before_groups_with_unparsed_responses() -> None:
    # two places are left for members 2 and 3 of the group whose members 0 and 1 are the best and the worst, not for
    # those of eight groups of which one member failed and is always kept
    failed = [trajectory(group=g, member=m, reward=m, unparsed=int(m == 0)) for g in range(1, 9) for m in range(3)]
    found = choose([*step([9, -9, 1, 2]), *failed], most=13, seeds=SEEDS)
    assert found[2] == found[3] == "group"


def test_of_equal_scores_the_first_is_the_best_and_the_last_the_worst() -> None:
    found = choose(step([5, 0], [0, 5]), most=2, seeds=SEEDS)
    assert but_the_lot(found) == {0: "best", 2: "worst"}


def test_each_group_of_equal_returns_leaves_one_member_even_beyond_the_budget() -> None:
    found = choose(step([0, 1], [2, 2], [3, 3], [-1, 5]), most=2, seeds=SEEDS)
    assert but_the_lot(found) == {2: "zero_variance", 4: "zero_variance", 6: "worst", 7: "best"}


def test_the_member_with_most_unparsed_responses_stands_for_its_group() -> None:
    members = [trajectory(group=1, member=m, reward=m, unparsed=count) for m, count in enumerate((1, 3, 0))]
    found = choose([*step([7, -7]), *members], most=1, seeds=SEEDS)
    assert but_the_lot(found) == {0: "best", 1: "worst", 3: "parse_failure"}


def test_a_fault_of_the_environment_counts_for_more_than_unparsed_responses_and_is_no_worst() -> None:
    failed = trajectory(group=1, member=0, reward=-99.0, fault="the ice broke", stop="fault")
    found = choose([*step([7, -7]), failed, trajectory(group=1, member=1, unparsed=4)], most=1, seeds=SEEDS)
    assert but_the_lot(found) == {0: "best", 1: "worst", 2: "fault"}


def test_groups_that_fit_are_kept_whole_and_the_last_in_part() -> None:
    # 2 for the group of best and worst, then of eight groups of four 2 whole and 1 with two of its members,
    # one of which these seeds' lot drew before
    found = choose(step([9, -9], *[[1, 2, 3, 4] for _ in range(8)]), most=12, seeds=SEEDS)
    sizes = sorted(sum(2 + 4 * g <= index < 6 + 4 * g for index in found) for g in range(8))
    assert sizes == [0, 0, 0, 0, 0, 2, 4, 4]
    assert counted(found) == {"best": 1, "worst": 1, "sample": 10}


def test_a_tenth_of_the_budget_is_drawn_by_lot_however_much_must_be_kept() -> None:
    # forty groups of two equal returns: one member of each is kept, which alone is more than the budget of thirty;
    # and best and worst, being of equal scores, are the first and the last of all
    found = choose(step(*[[1, 1]] * 40), most=30, seeds=SEEDS)
    assert counted(found) == {"best": 1, "worst": 1, "zero_variance": 39, "sample": 3}
    other = choose(step(*[[1, 1]] * 40), most=30, seeds=[1, 4, 11, 0])
    assert [index for index, why in found.items() if why == "sample"] != [
        index for index, why in other.items() if why == "sample"
    ]


def test_the_lot_is_the_seeds() -> None:
    trajectories = step(*[[1, 2, 3, 4] for _ in range(30)])
    first = choose(trajectories, most=20, seeds=SEEDS)
    assert first == choose(trajectories, most=20, seeds=SEEDS)
    assert first != choose(trajectories, most=20, seeds=[1, 4, 11, 0])


def test_episodes_of_their_own_hold_the_budget_however_many_are_not_parsed() -> None:
    """A held-out evaluation has groups of one: were each unparsed one kept, a broken format would fill the disk."""
    episodes = [trajectory(group=g, reward=g % 5, unparsed=g % 2) for g in range(40)]
    found = choose(episodes, most=10, seeds=SEEDS)
    # the best is the first of score 4, at 4; the worst the last of score 0, at 35; the others have unparsed responses
    assert counted(found) == {"best": 1, "worst": 1, "sample": 1, "parse_failure": 7}
    assert (found[4], found[35]) == ("best", "worst")


def test_groups_of_two_environments_with_one_number_are_two_groups() -> None:
    lake, other = (trajectory(group=0, member=m, reward=m) for m in range(2))
    other.environment = "Other"
    more = [trajectory(group=1, member=m, reward=m) for m in range(2)]
    assert but_the_lot(choose([lake, other, *more], most=2, seeds=SEEDS)) == {1: "best", 2: "worst"}
