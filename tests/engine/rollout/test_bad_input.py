"""Whatever environments and models hand to a rollout is refused with a reason, or recorded and counted."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from engine.algorithms.advantages import grpo
from engine.algorithms.group_scores import group_scores
from engine.environments.registry import ENVIRONMENTS
from engine.errors import ConfigError, EnvironmentFault
from engine.rollout.batching import collate, trainable
from engine.training.rollout_metrics import group_stds, rollout_metrics
from tests.engine.models import words
from tests.engine.rollout.builders import lake_config, say

DOWN = "go</think><answer>Down</answer>"
END = words().eos_token_id
SPECIAL = words().convert_tokens_to_ids("<|im_start|>")


@pytest.mark.parametrize(
    ("lake", "cause"), [("BreakingLake", "OSError: the ice broke"), ("UnpayableLake", "the reward is nan")]
)
def test_a_step_that_raises_or_pays_no_number_ends_its_own_trajectory(
    monkeypatch: pytest.MonkeyPatch, lake: str, cause: str
) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "frozen_lake", f"tests.engine.training.faulty:{lake}")
    played = say(lake_config(rollout={"groups": 1, "group_size": 4}), [DOWN])
    assert [t.stop for t in played] == ["fault", "max_turns", "fault", "max_turns"]
    assert all(cause in t.fault and "seed" in t.fault for t in played[::2])
    assert [t.raw_return for t in played] == [0.0] * 4
    assert trainable(played) == [1, 3]
    metrics = rollout_metrics(played)
    assert metrics["rollout/fault_rate"] == metrics["env/FrozenLake/fault_rate"] == 0.5
    assert metrics["env/FrozenLake/turns"] == 4.0  # of the two that were played to their end


def test_a_fault_falsifies_no_mean_of_rewards() -> None:
    played = say(lake_config(rollout={"groups": 1, "group_size": 3}), [DOWN])
    for trajectory, reward in zip(played, (1.0, 3.0, 50.0), strict=True):
        trajectory.turns[0].reward = reward
    played[2].fault = "the ice broke"
    metrics = rollout_metrics(played)
    assert metrics["reward/mean"] == metrics["env/FrozenLake/return"] == 2.0
    assert metrics["reward/max"] == 3.0
    assert group_stds(played) == {0: pytest.approx(2**0.5)}  # of 1 and 3


def test_a_member_whose_group_failed_around_it_has_nobody_to_be_compared_with() -> None:
    played = say(lake_config(rollout={"groups": 2, "group_size": 2}), [DOWN])
    played[0].fault = "the ice broke"
    assert trainable(played) == [2, 3]
    alone = [replace(t, group=number) for number, t in enumerate(played)]
    assert trainable(alone) == [1, 2, 3]  # groups of one were asked for


def test_when_every_environment_fails_the_rollout_fails_with_the_first_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "frozen_lake", "tests.engine.training.faulty:FaultyLake")
    with pytest.raises(EnvironmentFault, match="the ice broke"):
        say(lake_config(), [DOWN])


@pytest.mark.parametrize(
    "response",
    [[], [END], [SPECIAL], [SPECIAL, SPECIAL, END], [*words().encode(" \n "), END]],
    ids=["no token", "end of turn", "cut off", "special tokens", "blanks"],
)
@pytest.mark.parametrize(("context", "turns"), [("full", 0), ("last_k_turns", 2), ("single_turn_summary", 0)])
def test_a_response_that_says_nothing_is_a_named_fault_and_its_tokens_stay(
    context: str, turns: int, response: list[int]
) -> None:
    played = say(lake_config(context, turns), [response])
    for trajectory in played:
        assert [turn.parsed.case for turn in trajectory.turns] == ["empty_response"] * 4
        assert [turn.penalty for turn in trajectory.turns] == [-0.1] * 4
        assert [trajectory.ids[t.response_start : t.response_end] for t in trajectory.turns] == [response] * 4
        assert trajectory.response_tokens == 4 * len(response)
    metrics = rollout_metrics(played)
    assert metrics["rollout/parse/empty_response"] == 1.0
    assert metrics["rollout/parse_ok_rate"] == 0.0
    # a trajectory without one sampled token can train nothing
    assert len(trainable(played)) == (len(played) if response else 0)


def test_a_response_of_only_tags_is_not_blank() -> None:
    played = say(lake_config(), ["</think><answer></answer>"])
    assert {turn.parsed.case for turn in played[0].turns} == {"empty_answer"}


def test_a_group_of_malformed_responses_is_counted_and_has_advantage_zero() -> None:
    played = say(lake_config(rollout={"groups": 2, "group_size": 3}), ["what now"])
    well_formed = say(lake_config(rollout={"groups": 2, "group_size": 3}), [DOWN])
    assert rollout_metrics(played)["rollout/unparsed_groups"] == 1.0
    assert rollout_metrics(well_formed)["rollout/unparsed_groups"] == 0.0
    assert rollout_metrics(played[:3] + well_formed[3:])["rollout/unparsed_groups"] == 0.5
    batch = collate(played)
    assert batch.scores.tolist() == pytest.approx([-0.4] * 6)  # four turns at -0.1
    assert torch.equal(grpo(batch.scores, batch.groups, batch.mask), torch.zeros_like(batch.mask))
    assert group_scores(batch.returns, batch.groups).tolist() == [0.0, 0.0]


def test_a_context_too_short_for_every_first_prompt_is_refused_with_the_length_that_is_needed() -> None:
    lake = lake_config(rollout={"max_context_tokens": 100})
    fits = len(say(lake_config(), [DOWN])[0].seen(say(lake_config(), [DOWN])[0].turns[0])) + 12
    with pytest.raises(ConfigError, match=rf"need {fits}, .* is 100\. Raise .* to {fits} or"):
        say(lake, [DOWN])


def test_a_prompt_that_does_not_fit_for_some_problems_is_counted_and_trains_nothing() -> None:
    small, large = ({"frozen_probability": 1.0, "size": size} for size in (4, 12))
    config = lake_config(rollout={"max_context_tokens": 180})
    environments = [
        config.environments[0].model_copy(update={"tag": "small", "parameters": small}),
        config.environments[0].model_copy(update={"tag": "large", "parameters": large}),
    ]
    played = say(config.model_copy(update={"environments": environments}), [DOWN])
    assert [(t.stop, len(t.turns)) for t in played[3:]] == [("context_full", 0)] * 3
    assert trainable(played) == [0, 1, 2]
    metrics = rollout_metrics(played)
    assert metrics["rollout/no_room_rate"] == 0.5
    assert metrics["rollout/context_full_rate"] >= 0.5
    assert "env/small/success" in metrics
    assert "env/large/success" not in metrics  # nothing is known of it


def test_a_step_without_any_outcome_has_counts_and_no_rewards() -> None:
    played = say(lake_config(), [DOWN])
    for trajectory in played:
        trajectory.fault = "the ice broke"
    metrics = rollout_metrics(played)
    assert metrics["rollout/fault_rate"] == 1.0
    assert not any(name.startswith("reward/") or name == "rollout/success" for name in metrics)
    assert len(collate([])) == 0


@pytest.mark.parametrize(
    ("lake", "cause"),
    [
        (
            "environments.broken:KeepsSuccessToItself",
            "raised in step .*: ValueError: the info has no success",
        ),
        (
            "environments.broken:PaysNothingKnown",
            "raised in step with seed .*: ValueError: the reward is nan; it must be finite",
        ),
        (
            "training.faulty:SpeechlessLake",
            "raised in step .*: TypeError: the observation is NoneType",
        ),
        ("training.faulty:NamelessLake", "raised in drawing, solution or describe with seed .*: LookupError"),
    ],
)
def test_an_environment_that_breaks_its_contract_is_named_with_what_it_broke(
    monkeypatch: pytest.MonkeyPatch, lake: str, cause: str
) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "frozen_lake", f"tests.engine.{lake}")
    with pytest.raises(EnvironmentFault, match=cause):
        say(lake_config(), [DOWN])
