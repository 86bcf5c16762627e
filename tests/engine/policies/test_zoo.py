"""What is sampled and what is trained are the model itself, whatever its layers attend to.

The plain way is transformers' own forward pass of one whole sequence, with its own masks and its eager attention.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.errors import ModelError
from engine.policies.attention_masks import attention_kinds, attention_mask
from engine.policies.batched_sampler import BatchedSampler
from engine.policies.loading import check_architecture, compute_in
from engine.policies.packing import allow_packing
from engine.training.token_values import logprobs_and_entropies
from tests.engine.training.builders import made_up_batch
from tests.engine.zoo import ZOO, zoo_model

NEAR = {"atol": 2e-4, "rtol": 0}
every_model = pytest.mark.parametrize("name", ZOO)


def checked(name: str) -> Any:
    model = zoo_model(name)
    check_architecture(model)
    return model


@torch.no_grad()
def plain_logprobs(name: str, ids: list[int], *, temperature: float = 1.0) -> list[float]:
    """Of every token after the first."""
    logits = zoo_model(name, attention="eager")(torch.tensor([ids])).logits[0, :-1]
    logprobs = torch.log_softmax(logits / temperature, dim=-1)
    found: list[float] = logprobs.gather(-1, torch.tensor(ids[1:])[:, None]).squeeze(-1).tolist()
    return found


@every_model
def test_the_sampler_s_log_probabilities_are_the_model_s_over_several_turns(name: str) -> None:
    sampler = BatchedSampler(checked(name), rows=3, stop_ids=set(), temperature=0.7, seeds=[1])
    prompts = [[[5 + row] * length + [9, 8], [7, 6, 5]] for row, length in enumerate((30, 4, 50))]
    contexts: list[list[int]] = [[], [], []]
    sampled: list[list[tuple[int, float]]] = [[], [], []]  # position and log-probability
    for turn in range(2):
        for row in range(3):
            sampler.submit(row, prompts[row][turn], max_tokens=4 + row)
            contexts[row] += prompts[row][turn]
        finished = 0
        while finished < 3:
            for response in sampler.advance() or []:
                start = len(contexts[response.row])
                contexts[response.row] += response.ids
                sampled[response.row] += list(enumerate(response.logprobs, start))
                finished += 1
    for row in range(3):
        expected = plain_logprobs(name, contexts[row], temperature=0.7)
        found = torch.tensor([value for _, value in sampled[row]])
        torch.testing.assert_close(found, torch.tensor([expected[at - 1] for at, _ in sampled[row]]), **NEAR)


@every_model
@pytest.mark.parametrize("packed", [False, True])
def test_the_learner_s_log_probabilities_are_the_model_s(name: str, packed: bool) -> None:
    model, batch = checked(name), made_up_batch((7, 60, 12, 33))
    if packed:
        allow_packing(model)
    with torch.no_grad():
        found, _ = logprobs_and_entropies(model, batch.ids, batch.mask, batch.contexts, temperature=0.7)
    for row, ids in enumerate(batch.ids):
        length = int((batch.contexts[row] >= 0).sum())
        expected = torch.tensor([0.0, *plain_logprobs(name, ids[:length].tolist(), temperature=0.7)])
        torch.testing.assert_close(found[row, :length], expected * batch.mask[row, :length], **NEAR)


@every_model
@torch.no_grad()
def test_in_bfloat16_sampler_and_learner_are_nearer_to_each_other_than_to_float32(name: str) -> None:
    # A product is rounded to 8 bits, by 0.4% at most. Both round the same products, summed in another order: of the
    # models here they differ by 0.012 nats at most and 0.0012 on average, and from float32 by 0.005 to 0.013.
    model = checked(name)
    compute_in(model, "bfloat16")
    sampler = BatchedSampler(model, rows=3, stop_ids=set(), temperature=1.0, seeds=[1])
    prompts = [[5 + row] * length + [9, 8] for row, length in enumerate((30, 4, 50))]
    for row, prompt in enumerate(prompts):
        sampler.submit(row, prompt, max_tokens=20)
    differences, rounded = list[Tensor](), list[Tensor]()
    for response in sampler.advance() or []:
        prompt = prompts[response.row]
        ids, start = [*prompt, *response.ids], len(prompt)
        mask = torch.tensor([[0.0] * start + [1.0] * 20])
        learned, _ = logprobs_and_entropies(
            model, torch.tensor([ids]), mask, torch.zeros(1, len(ids), dtype=torch.long), temperature=1.0
        )
        differences.append((torch.tensor(response.logprobs) - learned[0, start:]).abs())
        rounded.append((torch.tensor(plain_logprobs(name, ids)[start - 1 :]) - learned[0, start:]).abs())
    assert len(differences) == 3
    between, from_float32 = torch.cat(differences), torch.cat(rounded)
    if name == "DeepSeek V3":  # whose router chooses other experts for one token of the 60, where two are as good
        assert (between >= 0.03).sum() <= 1
        between = between[between < 0.03]
    assert between.max() < 0.03
    assert between.mean() < 0.003
    assert 0.002 < from_float32.mean() < 0.03  # so it did compute in bfloat16


def test_masks_are_those_of_a_plain_loop() -> None:
    config = zoo_model("Gemma 2").config
    positions, columns = torch.tensor([[20, 21], [3, 4]]), torch.arange(24)
    found = attention_mask(config, positions, columns)
    assert isinstance(found, dict)
    for kind, seen in {
        "full_attention": lambda query, key: key <= query,
        "sliding_attention": lambda query, key: query - 16 < key <= query,
    }.items():
        expected = [[[[seen(int(q), int(k)) for k in columns] for q in row]] for row in positions]
        assert torch.equal(found[kind], torch.tensor(expected))


@pytest.mark.parametrize("kind", ["linear_attention", "chunked_attention"])
def test_a_kind_of_attention_that_is_not_known_is_refused(kind: str) -> None:
    model = zoo_model("Qwen2")
    model.config.layer_types = ["full_attention", kind]
    with pytest.raises(ModelError, match=f"Layers of qwen2 have the attention {kind}"):
        attention_kinds(model.config)


def test_a_model_that_does_not_separate_body_and_head_is_refused() -> None:
    from transformers import Llama4ForCausalLM, Llama4TextConfig

    config = Llama4TextConfig(
        vocab_size=40, hidden_size=32, intermediate_size=32, intermediate_size_mlp=32, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=1, num_local_experts=1, num_experts_per_tok=1, head_dim=16,
        pad_token_id=0,
    )  # fmt: skip
    with pytest.raises(ModelError, match="Llama4ForCausalLM does not separate its body from its head"):
        check_architecture(Llama4ForCausalLM(config))


@pytest.mark.parametrize("temperature", [0.0, 1.0])  # as in evaluations, and in training
def test_a_policy_whose_weights_are_not_numbers_is_an_error_and_no_endless_play(temperature: float) -> None:
    model = zoo_model("Qwen2")
    with torch.no_grad():
        model.base_model.norm.weight[0] = float("nan")
    sampler = BatchedSampler(model, rows=1, stop_ids=set(), temperature=temperature, seeds=[1])
    sampler.submit(0, [5, 6], max_tokens=4)
    with pytest.raises(ModelError, match="logits are not finite"):
        sampler.advance()


def test_a_token_that_the_model_rules_out_leaves_the_entropy_of_the_others() -> None:
    model = zoo_model("Llama 3")
    words = model.config.vocab_size
    with torch.no_grad():
        model.lm_head.weight.zero_()  # all tokens are equally likely
    model.lm_head.bias = torch.nn.Parameter(torch.zeros(words).index_fill(0, torch.tensor([3]), -torch.inf))
    sampler = BatchedSampler(model, rows=1, stop_ids=set(), temperature=1.0, seeds=[1])
    sampler.submit(0, [5, 6], max_tokens=1)
    responses = sampler.advance()
    assert responses is not None
    assert responses[0].entropies == [pytest.approx(math.log(words - 1))]
