"""What is sampled is what is trained: ids, log-probabilities and masks agree with a plain forward pass."""

from __future__ import annotations

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from engine.config import EnvironmentConfig
from engine.environments import ENVIRONMENTS
from engine.policies.batched_sampler import BatchedSampler
from engine.rollout.agent_proxy import AgentProxy
from engine.rollout.batching import collate
from engine.rollout.context_manager import ContextManager
from engine.rollout.env_state_manager import EnvStateManager
from engine.rollout.types import Trajectory
from engine.training.token_values import logprobs_and_entropies
from tests.engine.models import small_model, words


def roll_out(*, seed: int = 1, groups: int = 3, group_size: int = 2, temperature: float = 1.0) -> list[Trajectory]:
    model = small_model()
    lake = EnvironmentConfig.model_validate({"kind": "frozen_lake", "max_response_tokens": 12, "max_turns": 3})
    context = ContextManager(words(), think=True)
    proxy = AgentProxy(context, think=True, max_context_tokens=500)
    specs = EnvStateManager([lake], groups=groups, group_size=group_size, seed=seed).training_batch(1)
    sampler = BatchedSampler(model, rows=len(specs), stop_ids=context.stop_ids, temperature=temperature, seeds=[seed])
    return proxy.rollout(sampler, specs)


def test_kept_log_probabilities_are_those_of_a_full_forward_pass() -> None:
    trajectories = roll_out()
    batch = collate(trajectories)
    with torch.no_grad():
        logprobs, entropies = logprobs_and_entropies(
            small_model(), batch.ids, batch.mask, batch.contexts, temperature=1.0
        )
    torch.testing.assert_close(logprobs, batch.logprobs, atol=1e-4, rtol=0)
    kept = torch.tensor([value for t in trajectories for value, on in zip(t.entropies, t.sampled, strict=True) if on])
    torch.testing.assert_close(entropies[batch.mask.bool()], kept, atol=1e-4, rtol=0)


def test_padding_beside_a_long_row_never_passes_the_last_position_a_model_has_learned() -> None:
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_positions=64, n_embd=16, n_layer=1, n_head=2)).eval()
    sampler = BatchedSampler(model, rows=2, stop_ids=set(), temperature=1.0, seeds=[0])
    sampler.submit(0, list(range(5, 45)), max_tokens=2)
    first = sampler.advance()[0]
    # row 0 goes on from 42 tokens with 4, padded to the 30 of row 1's first prompt: 72 places, of 64
    sampler.submit(0, [1, 2, 3, 4], max_tokens=2)
    sampler.submit(1, list(range(5, 35)), max_tokens=2)
    responses = {response.row: response for response in [*sampler.advance(), *sampler.advance()][:2]}
    ids = [*range(5, 45), *first.ids, 1, 2, 3, 4, *responses[0].ids]
    with torch.no_grad():
        whole = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    expected = [float(whole[index - 1, ids[index]]) for index in (46, 47)]
    assert responses[0].logprobs == pytest.approx(expected, abs=1e-4)


def test_the_mask_covers_responses_and_nothing_else() -> None:
    for trajectory in roll_out():
        responses = {t for turn in trajectory.turns for t in range(turn.response_start, turn.response_end)}
        assert {t for t, sampled in enumerate(trajectory.sampled) if sampled} == responses


def test_the_text_of_all_turns_is_the_text_of_the_ids() -> None:
    for trajectory in roll_out():
        whole = words().decode(trajectory.ids)
        assert whole.startswith("<|im_start|>system\n")
        assert whole.count("<|im_start|>assistant\n<think>") == len(trajectory.turns)
        for turn in trajectory.turns:
            assert turn.prompt == words().decode(trajectory.ids[turn.prompt_start : turn.response_start])


def test_a_trajectory_does_not_depend_on_who_else_is_in_the_batch() -> None:
    alone = roll_out(groups=1, group_size=2)
    together = roll_out(groups=3, group_size=2)
    assert [t.ids for t in alone] == [t.ids for t in together[:2]]


def test_the_same_seed_samples_the_same_and_another_does_not() -> None:
    assert [t.ids for t in roll_out(seed=3)] == [t.ids for t in roll_out(seed=3)]
    assert [t.ids for t in roll_out(seed=3)] != [t.ids for t in roll_out(seed=4)]


def test_greedy_sampling_takes_the_likeliest_token_each_time() -> None:
    model = small_model()
    for trajectory in roll_out(temperature=0.0, groups=1):
        with torch.no_grad():
            likeliest = model(torch.tensor([trajectory.ids])).logits[0].argmax(-1).tolist()
        sampled = [t for t, on in enumerate(trajectory.sampled) if on]
        assert [trajectory.ids[t] for t in sampled] == [likeliest[t - 1] for t in sampled]


def test_members_of_a_group_share_their_prompt_and_groups_do_not() -> None:
    prompts = [t.turns[0].prompt for t in roll_out()]
    assert prompts[0] == prompts[1] and prompts[2] == prompts[3]
    assert len(set(prompts)) == 3


@pytest.mark.parametrize("kind", sorted(ENVIRONMENTS))
def test_a_group_shares_its_first_state_in_every_environment(kind: str) -> None:
    specs = EnvStateManager(
        [EnvironmentConfig.model_validate({"kind": kind})], groups=2, group_size=4, seed=1
    ).training_batch(5)
    assert len({spec.seed for spec in specs[:4]}) == 1
    assert len({spec.chance_seed for spec in specs[:4]}) == 4


def test_training_seeds_never_repeat_and_never_reach_the_held_out_ones() -> None:
    manager = EnvStateManager([EnvironmentConfig.model_validate({})], groups=16, group_size=1, seed=999_999)
    seeds = [spec.seed for step in range(1, 200) for spec in manager.training_batch(step)]
    assert len(set(seeds)) == len(seeds)
    assert max(seeds) < 1_000_000_000


def test_an_episode_without_room_for_another_response_ends_as_context_full() -> None:
    model = small_model()
    lake = EnvironmentConfig.model_validate({"kind": "frozen_lake", "max_response_tokens": 12})
    context = ContextManager(words(), think=True)
    specs = EnvStateManager([lake], groups=1, group_size=2, seed=1).training_batch(1)
    first = len(roll_out()[0].turns[0].prompt)
    assert first > 0
    proxy = AgentProxy(context, think=True, max_context_tokens=140)
    sampler = BatchedSampler(model, rows=2, stop_ids=context.stop_ids, temperature=1.0, seeds=[1])
    trajectories = proxy.rollout(sampler, specs)
    assert {t.stop for t in trajectories} <= {"context_full", "success", "terminated"}
    assert all(len(t.ids) <= 140 for t in trajectories)
