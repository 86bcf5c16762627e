"""What a step's event says of its groups: enough to draw the filter's choice and to make it again."""

from __future__ import annotations

import json

import pytest

from engine.algorithms.filters import TopP, filter_from
from engine.events import GroupsFiltered
from engine.rollout.action_parser import ParsedResponse
from engine.rollout.batching import collate, trainable
from engine.rollout.types import Trajectory, Turn
from engine.training import group_record as module
from engine.training.group_filter import keep_groups
from engine.training.group_record import group_record

ANSWER = ParsedResponse(thought="", actions=["Up"], case="ok")


def episode(group: int, member: int, reward: float, *, fault: str = "", tag: str = "Lake") -> Trajectory:
    """One turn of one sampled token that earned `reward`."""
    turn = Turn(
        prompt_start=0, response_start=1, response_end=2, prompt="", messages=[], response="", parsed=ANSWER,
        executed=["Up"], reward=reward, penalty=0.0, frames=[],
    )  # fmt: skip
    made = Trajectory(
        environment=tag, kind="frozen_lake", group=group, member=member, seed=100 + group, turns=[turn], fault=fault
    )
    made.begin_context()
    made.append([5])
    made.append([6], logprobs=[-1.0], entropies=[0.5])
    return made


def filtered(played: list[Trajectory], **choice: object) -> GroupsFiltered:
    usable = [played[index] for index in trainable(played)]
    config = filter_from({"type": "none", **choice})
    return group_record(1, played, keep_groups(config, collate(usable)), config)


def test_every_group_is_recorded_with_its_problem_its_returns_and_whether_it_was_kept() -> None:
    bandit = [episode(1, member, 0.5, tag="Bandit") for member in range(2)]
    played = [episode(0, 0, 1.0), episode(0, 1, 0.0), *bandit]
    event = filtered(played, type="top_p")
    assert (event.groups, event.seeds, event.kept) == ([0, 1], [100, 101], [0])
    assert [event.tags[index] for index in event.environments] == ["Lake", "Bandit"]
    assert event.returns == [[1.0, 0.0], [0.5, 0.5]]
    # of 1 and 0: squares 0.25 + 0.25 over 1, its root 0.7071
    assert event.stds == event.scores == [pytest.approx(0.70710677), 0.0]
    assert event.threshold == pytest.approx(0.70710677)
    assert (event.filter["type"], event.filter["largest"]) == ("top_p", True)


def test_a_member_without_an_outcome_has_no_return_and_a_group_of_such_no_score() -> None:
    broken = {"fault": "the ice broke"}
    played = [episode(0, 0, 1.0), episode(0, 1, 9.0, **broken), episode(0, 2, 0.0)]
    played += [episode(3, 0, 9.0, **broken), episode(3, 1, 9.0, **broken)]
    event = filtered(played)
    assert event.returns == [[1.0, None, 0.0], [None, None]]
    assert event.scores[1] is None and event.stds[1] is None
    assert (event.groups, event.kept) == ([0, 3], [0])


def test_the_scores_of_the_event_lead_to_the_same_choice() -> None:
    rewards = [(0.1, 0.7), (0.3, 0.31), (1 / 3, 2 / 3), (0.9, 0.2), (0.5, 0.5), (0.0, 0.6)]
    played = [
        episode(group, member, reward) for group, pair in enumerate(rewards) for member, reward in enumerate(pair)
    ]
    for value in (0.3, 0.5, 0.8, 0.95):
        event = filtered(played, type="top_p", value=value)
        scores = [score for score in event.scores if score is not None]
        assert TopP(value=value).choose(scores) == event.kept


def test_numbers_are_as_short_as_a_float32_needs() -> None:
    [row] = filtered([episode(0, 0, 0.1), episode(0, 1, 1 / 3)]).returns
    assert json.dumps(row) == "[0.1, 0.33333334]"


def test_a_step_of_16_times_8_takes_little_more_than_a_kilobyte() -> None:
    played = [episode(group, member, float(member % 2)) for group in range(16) for member in range(8)]
    assert len(filtered(played, type="top_p").model_dump_json()) < 1500


def test_returns_of_a_huge_step_end_and_its_scores_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_RETURNS", 4)
    played = [episode(group, member, float(member)) for group in range(4) for member in range(3)]
    event = filtered(played)
    assert [len(row) for row in event.returns] == [3, 3, 0, 0]
    assert len(event.scores) == len(event.stds) == 4
    assert None not in event.scores
