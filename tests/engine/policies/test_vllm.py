"""vLLM as a sampler, the real one with the model that ships: the same numbers as ours, and nothing left behind."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from statistics import fmean, variance
from typing import Any

import pytest
import torch

from engine.config.sampling import VLLM_CPU_BATCH
from engine.errors import ConfigError, ModelError
from engine.policies.batched_sampler import BatchedSampler
from engine.policies.vllm_engine import VllmEngine
from engine.policies.vllm_sampler import VllmSampler
from engine.rollout.batching import collate
from engine.rollout.stop_strings import StopStrings
from engine.rollout.types import Trajectory
from engine.training.token_values import logprobs_and_entropies
from tests.engine.policies.vllm_builders import (
    CONTEXT_TOKENS,
    lakes,
    logprobs_of,
    needs_vllm,
    proxy,
    random_ids,
    tiny,
    tiny_stop_ids,
)

pytestmark = [pytest.mark.slow, needs_vllm]


@pytest.fixture(scope="module")
def started() -> Iterator[VllmEngine]:
    with VllmEngine("tiny", max_context_tokens=CONTEXT_TOKENS, rows=128) as engine:
        yield engine


@pytest.fixture
def engine(started: VllmEngine) -> VllmEngine:
    """With the weights that ship, whatever the test before it loaded."""
    started.abort()
    started.load_weights(tiny()[0].named_parameters())
    return started


def sampler(engine: VllmEngine, rows: int, *, temperature: float = 1.0, seed: int = 1) -> VllmSampler:
    return VllmSampler(engine, rows=rows, stop_ids=tiny_stop_ids(), temperature=temperature, seeds=[seed])


def roll_out(
    engine: VllmEngine,
    *,
    groups: int = 4,
    group_size: int = 2,
    temperature: float = 1.0,
    seed: int = 1,
    max_response_tokens: int = 40,
    **rollout: Any,
) -> list[Trajectory]:
    specs = lakes(groups=groups, group_size=group_size, max_response_tokens=max_response_tokens)
    return proxy(**rollout).rollout(sampler(engine, len(specs), temperature=temperature, seed=seed), specs)


def ours(*, groups: int, group_size: int, temperature: float = 1.0) -> list[Trajectory]:
    specs = lakes(groups=groups, group_size=group_size)
    batched = BatchedSampler(tiny()[0], rows=len(specs), stop_ids=tiny_stop_ids(), temperature=temperature, seeds=[1])
    return proxy().rollout(batched, specs)


def test_a_stop_string_ends_a_response_with_the_token_that_completes_it(engine: VllmEngine) -> None:
    """Responses are drawn with seeds of their own, so each is the one without stop strings up to its end."""
    specs = lakes(groups=4, group_size=2)
    strings = StopStrings(["</think>"], proxy().context.text)

    def first_responses(stop_strings: StopStrings | None) -> list[Any]:
        drawn = VllmSampler(
            engine, rows=8, stop_ids=tiny_stop_ids(), temperature=1.0, seeds=[1], stop_strings=stop_strings
        )
        return proxy().rollout(drawn, specs)

    plain, stopped = first_responses(None), first_responses(strings)
    count = 0
    for one, other in zip(plain, stopped, strict=True):
        whole, cut = (each.ids[each.turns[0].response_start : each.turns[0].response_end] for each in (one, other))
        end = strings.first_end(whole)
        assert cut == whole[:end]
        if end is not None:
            count += 1
            start = other.turns[0].response_start
            assert other.turns[0].cut == ""
            assert other.logprobs[start : start + end] == one.logprobs[start : start + end]
    assert count >= 4
    assert engine.open_requests == 0


@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize("window", [{}, {"context": {"type": "last_k_turns", "turns": 1}}], ids=["full", "window"])
def test_kept_log_probabilities_are_those_that_a_learner_computes(
    engine: VllmEngine, temperature: float, window: dict[str, Any]
) -> None:
    batch = collate(roll_out(engine, temperature=temperature, **window))
    model, _ = tiny()
    with torch.no_grad():
        logprobs, _ = logprobs_and_entropies(model, batch.ids, batch.sampled, batch.contexts, temperature=temperature)
    assert batch.mask.sum() > 100
    torch.testing.assert_close(batch.logprobs, logprobs, atol=1e-4, rtol=0)


def test_greedy_responses_are_those_of_our_own_sampler(engine: VllmEngine) -> None:
    theirs = roll_out(engine, groups=16, group_size=1, temperature=0.0)
    assert [t.ids for t in theirs] == [t.ids for t in ours(groups=16, group_size=1, temperature=0.0)]


def test_a_rollout_is_well_formed(engine: VllmEngine) -> None:
    specs = lakes(groups=8, group_size=4, max_response_tokens=16)
    at_work = sampler(engine, len(specs))
    trajectories = proxy().rollout(at_work, specs)
    stops = tiny_stop_ids()
    cut_off = 0
    for trajectory, spec in zip(trajectories, specs, strict=True):
        responses = {t for turn in trajectory.turns for t in range(turn.response_start, turn.response_end)}
        assert {t for t, on in enumerate(trajectory.sampled) if on} == responses
        assert len(trajectory.ids) == len(trajectory.logprobs) == len(trajectory.entropies) <= CONTEXT_TOKENS
        assert trajectory.seed == spec.seed
        assert trajectory.stop in ("success", "terminated", "max_turns", "max_actions", "context_full")
        assert trajectory.success == (trajectory.stop == "success")
        assert not trajectory.knows_entropies
        kept = zip(trajectory.logprobs, trajectory.sampled, strict=True)
        assert all(value <= 0 if on else value == 0 for value, on in kept)
        for turn in trajectory.turns:
            response = trajectory.ids[turn.response_start : turn.response_end]
            assert 1 <= len(response) <= 16
            assert not stops & set(response[:-1])
            assert response[-1] in stops or len(response) == 16
            cut_off += response[-1] not in stops
    assert 0 < cut_off < sum(len(t.turns) for t in trajectories)
    assert at_work.sampled_tokens == sum(t.response_tokens for t in trajectories)
    assert engine.open_requests == 0


def test_what_a_trajectory_samples_does_not_depend_on_who_else_is_in_the_batch(engine: VllmEngine) -> None:
    alone = roll_out(engine, groups=1, group_size=2)
    together = roll_out(engine, groups=8, group_size=2)
    assert [t.ids for t in alone] == [t.ids for t in together[:2]]


def test_the_same_seed_samples_the_same_and_another_does_not(engine: VllmEngine) -> None:
    assert [t.ids for t in roll_out(engine, seed=3)] == [t.ids for t in roll_out(engine, seed=3)]
    assert [t.ids for t in roll_out(engine, seed=3)] != [t.ids for t in roll_out(engine, seed=4)]


def test_more_trajectories_than_rows_take_turns(engine: VllmEngine) -> None:
    trajectories = roll_out(engine, groups=20, group_size=8)
    assert len(trajectories) == 160 > engine.rows
    assert all(t.turns for t in trajectories)


def test_more_prompt_tokens_than_one_pass_takes_are_read_in_turns(engine: VllmEngine) -> None:
    """With seeds of their own, and prompts read in pieces, vLLM's CPU build would end here."""
    at_work = sampler(engine, 30)
    for row in range(30):
        at_work.submit(row, random_ids(400, vocabulary=700, seed=row), max_tokens=2)
    responses = []
    while finished := at_work.advance():
        responses += finished
    assert 2 * VLLM_CPU_BATCH < 30 * 400
    assert sorted(response.row for response in responses) == list(range(30))


def test_both_samplers_play_alike(engine: VllmEngine) -> None:
    """512 episodes each on the same 64 lakes. Given the lake, episodes are independent, so treating all as independent
    only overstates the variance. Three numbers at three standard errors: 0.8% that equal samplers fail by chance."""
    theirs = roll_out(engine, groups=64, group_size=8, seed=11)
    mine = ours(groups=64, group_size=8)
    for number in (success, response_tokens, mean_logprob):
        a, b = [number(t) for t in theirs], [number(t) for t in mine]
        error = math.sqrt(variance(a) / len(a) + variance(b) / len(b))
        assert abs(fmean(a) - fmean(b)) < 3 * error, (number.__name__, fmean(a), fmean(b), error)
    assert 0.2 < fmean([success(t) for t in theirs]) < 0.8


def success(trajectory: Trajectory) -> float:
    return float(trajectory.success)


def response_tokens(trajectory: Trajectory) -> float:
    return float(trajectory.response_tokens)


def mean_logprob(trajectory: Trajectory) -> float:
    return sum(trajectory.logprobs) / trajectory.response_tokens


def changed(seed: int) -> Any:
    """The model that ships after a large step in a random direction."""
    model = copy.deepcopy(tiny()[0])
    noise = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.05 * torch.randn(weight.shape, generator=noise)
    return model


def test_new_weights_give_the_learners_log_probabilities(engine: VllmEngine) -> None:
    sequences = [random_ids(count, vocabulary=700, seed=count) for count in (2, 30, 300, CONTEXT_TOKENS - 1)]
    before = engine.score(sequences)
    learner = changed(seed=1)
    engine.load_weights(learner.state_dict().items())
    after = engine.score(sequences)
    for ids, old, new in zip(sequences, before, after, strict=True):
        assert old == pytest.approx(logprobs_of(tiny()[0], ids), abs=1e-4)
        assert new == pytest.approx(logprobs_of(learner, ids), abs=1e-4)
    assert max(abs(a - b) for a, b in zip(before[1], after[1], strict=True)) > 0.5


def test_weights_that_come_in_many_parts_are_the_same(engine: VllmEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.policies.vllm_engine.PART_BYTES", 1)
    learner = changed(seed=2)
    engine.load_weights(iter(list(learner.named_parameters())[::-1]))
    ids = random_ids(50, vocabulary=700)
    assert engine.score([ids]) == [pytest.approx(logprobs_of(learner, ids), abs=1e-4)]


def test_the_prefix_cache_spares_work_and_keeps_nothing_of_old_weights(engine: VllmEngine) -> None:
    prompt = random_ids(200, vocabulary=700)
    learner = changed(seed=3)
    kept = []
    for model in (tiny()[0], learner):
        engine.load_weights(model.named_parameters())
        for _ in range(2):
            at_work = sampler(engine, 1, temperature=0.0)
            at_work.submit(0, prompt, max_tokens=8)
            (response,) = at_work.advance()
            expected = logprobs_of(model, prompt + response.ids)[len(prompt) - 1 :]
            assert response.logprobs == pytest.approx(expected, abs=1e-4)
            kept.append(at_work.cached_tokens)
    assert kept == [0, 192, 0, 192]  # of 200 tokens six whole blocks of 32


def test_weights_that_are_not_all_there_are_refused_and_so_is_work_until_they_are(engine: VllmEngine) -> None:
    weights = dict(tiny()[0].named_parameters())
    without = {name: weight for name, weight in weights.items() if "k_proj" not in name}
    with pytest.raises(ModelError, match=r"4 of 27 weights are missing: model\.layers\.0\.self_attn\.k_proj\.bias"):
        engine.load_weights(without.items())
    with pytest.raises(ModelError, match="of different versions"):
        engine.score([[1, 2]])
    with pytest.raises(ModelError, match=r"no weight 'module\.lm_head\.weight'"):
        engine.load_weights((f"module.{name}", weight) for name, weight in [*weights.items()][::-1])
    with pytest.raises(ModelError, match=r"'model.norm.weight' has shape \(64,\), and the model expects \(128,\)"):
        engine.load_weights({**weights, "model.norm.weight": torch.zeros(64)}.items())
    engine.load_weights(weights.items())
    ids = random_ids(20, vocabulary=700)
    assert engine.score([ids]) == [pytest.approx(logprobs_of(tiny()[0], ids), abs=1e-4)]


class BrokenOff(Exception):
    """What a user's stop raises."""


@pytest.mark.parametrize("said", [True, False], ids=["aborted", "forgotten"])
def test_a_rollout_that_is_broken_off_leaves_nothing_behind(engine: VllmEngine, said: bool) -> None:
    undisturbed = roll_out(engine, seed=7)

    def stop() -> None:
        raise BrokenOff

    specs = lakes(groups=16, group_size=2)
    broken = sampler(engine, len(specs))
    with pytest.raises(BrokenOff):
        proxy().rollout(broken, specs, check_cancelled=stop)
    assert engine.open_requests > 0
    if said:
        broken.abort()
        assert engine.open_requests == 0
        assert broken.advance() == []
        engine.load_weights(tiny()[0].named_parameters())  # which empties the prefix cache: no block is in use
    again = roll_out(engine, seed=7)
    assert [t.ids for t in again] == [t.ids for t in undisturbed]
    assert engine.open_requests == 0


def test_a_row_that_is_released_while_it_waits_is_forgotten(engine: VllmEngine) -> None:
    at_work = sampler(engine, 2)
    for row in range(2):
        at_work.submit(row, random_ids(40, vocabulary=700), max_tokens=4)
    at_work.release(0)
    assert [response.row for response in at_work.advance()] == [1]
    assert at_work.advance() == [] and engine.open_requests == 0


def test_a_request_that_passes_the_context_names_the_numbers(engine: VllmEngine) -> None:
    at_work = sampler(engine, 1)
    with pytest.raises(ConfigError, match=r"500 tokens and a response of 13 make 513, .* holds 512"):
        at_work.submit(0, [1] * 500, max_tokens=13)
    with pytest.raises(ConfigError, match=r"512 tokens cannot be scored"):
        engine.score([[1] * 512])
    at_work = sampler(engine, 1)
    at_work.submit(0, [1] * 500, max_tokens=12)
    assert len(at_work.advance()) == 1


@pytest.mark.parametrize("temperature", [0.001, 2.5])
def test_a_temperature_that_vllm_would_change_is_refused(engine: VllmEngine, temperature: float) -> None:
    with pytest.raises(ConfigError, match=rf"temperature {temperature}: it takes 0 and 0.01 to 2.0"):
        sampler(engine, 1, temperature=temperature)


def test_it_says_that_it_cannot_sleep_on_a_cpu(engine: VllmEngine) -> None:
    if engine.can_sleep:
        pytest.skip("this machine has a GPU")
    with pytest.raises(ModelError, match="cannot sleep on a CPU"):
        engine.sleep()


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_policy_whose_weights_are_not_numbers_is_an_error(engine: VllmEngine, temperature: float) -> None:
    # the last test of this engine: its cache keeps what such weights wrote
    engine.load_weights((name, torch.full_like(weight, math.nan)) for name, weight in tiny()[0].named_parameters())
    with pytest.raises(ModelError, match=r"The policy's logits are not finite"):
        roll_out(engine, temperature=temperature)
