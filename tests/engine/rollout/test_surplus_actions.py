"""Actions beyond those that a response may have: counted, and masked, penalised or ignored as configured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.algorithms.variants import ALGORITHMS
from engine.config import build_config
from engine.rollout.action_parser import parse_response
from engine.rollout.batching import collate, turn_ends, turn_numbers
from engine.rollout.masking import tokens_within
from engine.rollout.records import record_of
from engine.rollout.types import Trajectory
from engine.training.credit import assign_credit
from engine.training.group_filter import _values
from engine.training.learner import Learner
from engine.training.rollout_metrics import rollout_metrics
from tests.engine.models import small_model, words
from tests.engine.rollout.builders import context_manager, lake_config, say
from tests.engine.rollout.test_text_is_text import other_tokenizer

EXACT = "go</think><answer>Left || Right</answer>"
# as tokens:   go </think> <answer> Left _|| _Right _|| _Down </answer> end
SURPLUS = "go</think><answer>Left || Right || Down</answer>"
KEPT = [1, 1, 1, 1, 1, 1, 0, 0, 1, 1]
PAIR = {"groups": 1, "group_size": 2}


def played(setting: str, *responses: str, **rollout: Any) -> list[Trajectory]:
    return say(lake_config(rollout=PAIR | rollout, surplus_actions=setting, max_turns=2), responses)


def response_marks(trajectory: Trajectory, marks: list[int]) -> list[list[int]]:
    return [marks[turn.response_start : turn.response_end] for turn in trajectory.turns]


def test_the_surplus_is_sampled_and_read_later_but_not_trained_on() -> None:
    trajectory = played("mask", SURPLUS, EXACT)[0]
    assert response_marks(trajectory, trajectory.sampled) == [[1] * 10, [1] * 8]
    assert response_marks(trajectory, trajectory.trained) == [KEPT, [1] * 8]
    start = trajectory.turns[0].response_start
    assert trajectory.masked == [(start + 6, start + 8)]
    assert words().decode(trajectory.ids[start + 6 : start + 8]) == " || Down"
    assert trajectory.ids == played("ignore", SURPLUS, EXACT)[0].ids
    assert (trajectory.response_tokens, trajectory.trained_tokens) == (18, 16)


@pytest.mark.parametrize(("setting", "penalty"), [("mask", 0.0), ("penalty", -0.1), ("ignore", 0.0)])
def test_a_penalty_is_added_only_if_configured(setting: str, penalty: float) -> None:
    trajectory = played(setting, SURPLUS, EXACT)[0]
    assert [turn.penalty for turn in trajectory.turns] == [penalty, 0.0]
    assert [(turn.parsed.case, turn.parsed.surplus) for turn in trajectory.turns] == [("ok", 1), ("ok", 0)]
    assert [turn.executed for turn in trajectory.turns] == [["Left", "Right"]] * 2
    assert bool(trajectory.masked) == (setting == "mask")
    assert "Not understood" not in trajectory.turns[1].prompt


def test_responses_without_surplus_are_the_same_under_every_setting() -> None:
    batches = [collate(played(setting, EXACT, "what now")) for setting in ("mask", "penalty", "ignore")]
    for batch in batches:
        assert torch.equal(batch.mask, batch.sampled)
        assert torch.equal(batch.ids, batches[0].ids) and torch.equal(batch.mask, batches[0].mask)
        assert torch.equal(batch.rewards, batches[0].rewards) and torch.equal(batch.scores, batches[0].scores)


def test_a_batch_masks_them_and_still_knows_where_turns_end() -> None:
    trajectories = played("mask", SURPLUS, EXACT)
    batch = collate(trajectories)
    first, second = trajectories[0].turns
    assert batch.mask[0, first.response_start : first.response_end].tolist() == KEPT
    assert batch.sampled[0, first.response_start : first.response_end].tolist() == [1] * 10
    ends = turn_ends(batch.sampled)[0].nonzero().flatten().tolist()
    assert ends == [first.response_end - 1, second.response_end - 1]
    assert batch.mask[0, ends].tolist() == [1, 1]  # credit of a turn lies on a token that is trained on
    assert turn_numbers(batch.sampled)[0].max() == 1
    assert torch.equal(batch.rows(torch.tensor([1])).sampled[0], batch.sampled[1])


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
@pytest.mark.parametrize("credit", ["trajectory", "turn"])
def test_no_algorithm_gives_them_an_advantage(name: str, credit: str) -> None:
    kind = ALGORITHMS[name]
    settings = kind.model_validate({"credit": {"type": credit}} if "credit" in kind.model_fields else {})
    batch = collate(played("mask", SURPLUS, EXACT))
    draw = torch.Generator().manual_seed(1)
    rewards = torch.randn(batch.rewards.shape, generator=draw) * turn_ends(batch.sampled)
    scores = rewards.sum(dim=1)
    values = torch.randn(batch.mask.shape, generator=draw) * batch.mask
    found = assign_credit(settings, replace(batch, rewards=rewards, scores=scores), values).advantages
    assert found[batch.mask > 0].any()
    assert not found[batch.mask == 0].any()


def test_turn_credit_is_that_of_the_same_responses_unmasked() -> None:
    settings = ALGORITHMS["grpo"].model_validate({"credit": {"type": "turn"}})
    batch = collate(played("mask", SURPLUS, EXACT))
    rewards = turn_ends(batch.sampled) * torch.tensor([[1.0], [3.0]])
    masked = assign_credit(settings, replace(batch, rewards=rewards), None).advantages
    whole = assign_credit(settings, replace(batch, rewards=rewards, mask=batch.sampled), None).advantages
    torch.testing.assert_close(masked, whole * batch.mask)


def test_log_probabilities_of_masked_tokens_are_scored_and_do_not_change_an_update() -> None:
    learner = Learner(small_model(), build_config({}))
    batch = collate(played("mask", SURPLUS, EXACT))
    logprobs, entropies = learner.score(batch)
    assert bool((logprobs[batch.sampled > 0] < 0).all()) and bool((entropies[batch.sampled > 0] > 0).all())
    masked = (batch.sampled > 0) & (batch.mask == 0)
    assert int(masked.sum()) == 4  # two in each trajectory
    updated = []
    for wrong in (0.0, -7.0):  # the sampler's log-probabilities of masked tokens enter nothing
        old = torch.where(masked, logprobs + wrong, logprobs)
        learner = Learner(small_model(), build_config({}))
        shuffle = torch.Generator().manual_seed(1)
        learner.update(replace(batch, logprobs=old), torch.ones_like(old), step=1, shuffle=shuffle)
        updated.append([parameter.detach().clone() for parameter in learner.model.parameters()])
    assert all(torch.equal(one, other) for one, other in zip(*updated, strict=True))


def test_they_are_counted_and_their_responses_are_parsed() -> None:
    trajectories = played("mask", SURPLUS.replace("Down", "Down || Up || Up"), EXACT)
    for trajectory in trajectories:
        # 14 + 8 tokens, of which the last 6 of the first answer are masked; those have an entropy of 9, others of 0.5
        for start, end in trajectory.masked:
            trajectory.entropies[start:end] = [9.0] * (end - start)
    metrics = rollout_metrics(trajectories)
    assert metrics["rollout/surplus_actions"] == 1.5  # 3 and 0
    assert metrics["rollout/surplus_rate"] == 0.5
    assert metrics["rollout/parse_ok_rate"] == 1.0
    assert metrics["rollout/actions_per_turn"] == 2.0
    assert metrics["rollout/response_tokens"] == 11.0
    assert metrics["policy/entropy"] == 0.5
    assert collate(trajectories).entropies.tolist() == [0.5, 0.5]


def test_a_record_has_the_masked_tokens_and_the_mean_advantage_of_the_others() -> None:
    trajectory = played("mask", SURPLUS, EXACT)[0]
    advantages = [2.0 * on for on in trajectory.trained]
    record = record_of(trajectory, step=1, split="train", piece=str, advantages=advantages)
    assert record["tokens"]["masked"] == trajectory.masked
    assert [turn["surplus"] for turn in record["turns"]] == [1, 0]
    assert record["advantage"] == record["turns"][0]["advantage"] == 2.0


def test_the_length_that_groups_are_filtered_by_is_that_of_responses() -> None:
    trajectories = played("mask", SURPLUS, EXACT)
    assert _values(collate(trajectories), "length").tolist() == [18.0, 18.0]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["Up", "Left", "é", "→", " ", "a<b"]), min_size=1, max_size=6),
    st.sampled_from(["||", " || ", " ||", "||\n"]),
    st.integers(1, 3),
    st.booleans(),
)
def test_the_other_tokens_spell_the_response_without_its_surplus(
    names: list[str], separator: str, limit: int, other: bool
) -> None:
    tokenizer = other_tokenizer() if other else words()
    context = context_manager()
    context.tokenizer = tokenizer
    ids = tokenizer.encode(f"→</think><answer>{separator.join(names)}</answer>", add_special_tokens=False)
    text = context.response_text(ids)
    parsed = parse_response(text, think=True, max_actions=limit)
    if parsed.surplus_span is None:
        return
    found = tokens_within(context, ids, parsed.surplus_span)
    kept = context.response_text(ids[: found.start] + ids[found.stop :])
    left = parse_response(kept, think=True, max_actions=limit)
    assert (left.actions, left.surplus) == (parsed.actions, 0)
