"""Prefix reuse gives what scoring every pair whole gives, and pairs are drawn as they should be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor

from engine.diagnostics.cross_scores import cross_score, sample_pairs, sample_turns
from engine.policies.loading import compute_in

SIZES = {
    "vocab_size": 40, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 128,
}  # fmt: skip


def random_model(architecture: str, **settings: Any) -> Any:
    torch.manual_seed(0)
    config = getattr(transformers, f"{architecture}Config")(**SIZES, **settings, tie_word_embeddings=False)
    model = getattr(transformers, f"{architecture}ForCausalLM")(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # far from uniform predictions, so that mistakes show
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def random_texts(count: int, longest: int, *, seed: int) -> list[list[int]]:
    chooser = np.random.default_rng(seed)
    return [chooser.integers(0, 40, chooser.integers(1, longest + 1)).tolist() for _ in range(count)]


@torch.no_grad()
def score_all_pairs(model: Any, prompts: list[list[int]], thoughts: list[list[int]], temperature: float) -> Tensor:
    """The plain way: every pair as one whole sequence."""
    scores = torch.zeros(len(thoughts), len(prompts))
    for column, prompt in enumerate(prompts):
        for row, thought in enumerate(thoughts):
            logits = model(torch.tensor([prompt + thought])).logits[0]
            logprobs = torch.log_softmax(logits / temperature, dim=-1)
            scores[row, column] = sum(logprobs[len(prompt) - 1 + t, token] for t, token in enumerate(thought))
    return scores


@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize(
    ("architecture", "settings"),
    [("Qwen2", {}), ("Llama", {}), ("Gemma2", {"sliding_window": 8, "head_dim": 8})],
    ids=["Qwen2", "Llama", "Gemma2 with a sliding window"],
)
def test_prefix_reuse_equals_scoring_every_pair(
    architecture: str, settings: dict[str, Any], temperature: float
) -> None:
    model = random_model(architecture, **settings)
    prompts, thoughts = random_texts(4, 20, seed=1), random_texts(7, 9, seed=2)
    expected = score_all_pairs(model, prompts, thoughts, temperature)
    found = cross_score(model, prompts, thoughts, temperature=temperature)
    assert found.shape == (7, 4)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-5)
    assert expected.std() > 1.0  # the comparison can fail


def test_scores_have_the_precision_of_the_policy() -> None:
    model = random_model("Qwen2")
    prompts, thoughts = random_texts(4, 20, seed=1), random_texts(7, 9, seed=2)
    exact = cross_score(model, prompts, thoughts, temperature=1.0)
    compute_in(model, "bfloat16")
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
        plain = torch.tensor([[plain_score(model, prompt, thought) for prompt in prompts] for thought in thoughts])
    found = cross_score(model, prompts, thoughts, temperature=1.0)
    # nats of up to nine tokens: 0.004 between two orders of the same rounded products, 0.025 by the rounding
    assert (found - plain).abs().mean() < 0.01 < (found - exact).abs().mean() < 0.1


def plain_score(model: Any, prompt: list[int], thought: list[int]) -> float:
    """With the head in float32, as the policy has it."""
    hidden = model.base_model(torch.tensor([prompt + thought])).last_hidden_state[0, len(prompt) - 1 : -1]
    with torch.autocast("cpu", enabled=False):
        logprobs = torch.log_softmax(model.lm_head(hidden.float()), dim=-1)
    return float(logprobs.gather(-1, torch.tensor(thought)[:, None]).sum())


@pytest.mark.parametrize("batch", [1, 3, 7])
def test_the_batch_size_changes_nothing(batch: int) -> None:
    model = random_model("Qwen2")
    prompts, thoughts = random_texts(3, 12, seed=3), random_texts(7, 9, seed=4)
    whole = cross_score(model, prompts, thoughts)
    torch.testing.assert_close(cross_score(model, prompts, thoughts, batch=batch), whole, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("prompts", "thoughts"), [([[1], []], [[2]]), ([[1]], [[2], []])])
def test_empty_texts_are_refused(prompts: list[list[int]], thoughts: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="cannot be scored"):
        cross_score(random_model("Qwen2"), prompts, thoughts)


# two problems, three trajectories each, and a third problem where nobody thought
PAIRS = [([1, 1], [10]), ([1, 1], [11]), ([2], []), ([2], [20]), ([3], []), ([1, 1], [12]), ([2], [21])]


def test_pairs_keep_the_prompt_each_thought_came_from() -> None:
    found = sample_pairs(PAIRS, reasonings=32, prompts=8, generator=np.random.default_rng(0))
    assert found.prompts == [[1, 1], [2]]
    assert found.thoughts == [[10], [11], [20], [12], [21]]
    assert found.true_column == [0, 0, 1, 0, 1]


@pytest.mark.parametrize("seed", range(5))
def test_few_thoughts_are_distributed_evenly_over_the_prompts(seed: int) -> None:
    found = sample_pairs(PAIRS, reasonings=4, prompts=8, generator=np.random.default_rng(seed))
    assert sorted(found.true_column) == [0, 0, 1, 1]


@pytest.mark.parametrize("seed", range(5))
def test_no_more_prompts_than_asked_for_and_none_without_a_thought(seed: int) -> None:
    found = sample_pairs(PAIRS, reasonings=32, prompts=1, generator=np.random.default_rng(seed))
    assert found.prompts in ([[1, 1]], [[2]])
    assert set(found.true_column) == {0}


def test_the_same_generator_draws_the_same_pairs() -> None:
    many = [([i % 5], [i]) for i in range(1, 40)]
    first, second, other = (
        sample_pairs(many, reasonings=8, prompts=3, generator=np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert first == second != other


def test_nothing_to_draw_from_gives_nothing() -> None:
    found = sample_pairs([([1], [])], reasonings=4, prompts=2, generator=np.random.default_rng(0))
    assert (found.prompts, found.thoughts, found.true_column) == ([], [], [])


@pytest.mark.parametrize("seed", range(5))
def test_prompts_are_distributed_evenly_over_environments(seed: int) -> None:
    # ten prompts of a lake and three of a pond, one of which both have; it is a prompt of each
    lake, pond = [([i], [100 + i]) for i in range(10)], [([i], [200 + i]) for i in (0, 50, 51)]
    found = sample_pairs(
        lake + pond, reasonings=32, prompts=6, generator=np.random.default_rng(seed),
        environments=["lake"] * 10 + ["pond"] * 3,
    )  # fmt: skip
    assert sorted(found.environments) == ["lake"] * 3 + ["pond"] * 3
    for thought, column in zip(found.thoughts, found.true_column, strict=True):
        assert found.environments[column] == ("lake" if thought[0] < 200 else "pond")
        assert found.prompts[column] == [thought[0] % 100]


def test_turns_keep_whose_they_are() -> None:
    trajectories = turns_of([(1, 11)], [(1, 21), (2, 22)])
    found = sample_turns(trajectories, reasonings=9, generator=np.random.default_rng(0), environments=["lake", "pond"])
    assert sorted(zip(found.environments, found.prompts, strict=True)) == [("lake", [1]), ("pond", [1]), ("pond", [2])]


def turns_of(*trajectories: list[tuple[int, int]]) -> list[list[tuple[list[int], list[int]]]]:
    """Trajectories of `(context, thought)`, each written as one token; thought 0 is no thought."""
    return [[([context], [thought] if thought else []) for context, thought in turns] for turns in trajectories]


def test_turns_are_drawn_once_each_with_the_context_they_followed() -> None:
    trajectories = turns_of([(1, 11), (2, 12)], [(1, 13), (4, 14), (5, 0)], [])
    pairs = sample_turns(trajectories, reasonings=10, generator=np.random.default_rng(0))
    drawn = [
        (pairs.prompts[column], thought) for column, thought in zip(pairs.true_column, pairs.thoughts, strict=True)
    ]
    assert sorted(drawn) == [([1], [11]), ([1], [13]), ([2], [12]), ([4], [14])]
    assert len(pairs.prompts) == 3  # equal contexts are one column


def test_no_more_turns_are_drawn_than_asked_for_and_the_seed_decides() -> None:
    trajectories = turns_of(*[[(10 * i + j, 100 + j) for j in range(5)] for i in range(20)])
    draws = [sample_turns(trajectories, reasonings=7, generator=np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert [len(pairs.thoughts) for pairs in draws] == [7, 7, 7]
    assert draws[0] == draws[1] != draws[2]


def test_each_trajectory_is_as_likely_however_many_turns_it_has() -> None:
    # one trajectory with 99 turns and one with a single turn: the first draw takes either with chance 1/2
    trajectories = turns_of([(i, 1) for i in range(2, 101)], [(1, 2)])
    firsts = [
        sample_turns(trajectories, reasonings=1, generator=np.random.default_rng(seed)).thoughts[0][0]
        for seed in range(400)
    ]
    assert 160 < firsts.count(2) < 240  # 200 expected, 10 the standard deviation
