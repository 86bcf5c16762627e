"""A checksum that finds one changed bit in a model, and no change in how its weights are fused or laid out."""

from __future__ import annotations

import torch

from engine.policies.loading import load_model
from engine.policies.policy_weights import PolicyWeights
from engine.policies.weight_checksums import (
    ON_A_CPU,
    SentChecksums,
    WeightChecksum,
    agree,
    bytes_of,
    checksum_of,
    model_checksums,
)


def sent(model: torch.nn.Module, dtype: torch.dtype = torch.float32) -> dict[str, WeightChecksum]:
    sums = SentChecksums()
    for _ in PolicyWeights(model, dtype, sums.add):
        continue
    return sums.total()


def test_it_adds_the_bits_of_numbers_and_their_folded_squares() -> None:
    # 1.0 is 0x3F80 in bfloat16, 0x3F800000 in float32; folded, high 16 bits against low ones, both are 0x3F80 = 16256
    # -2.0 is 0xC000, as a signed number -16384; its sign fills what lies above, so folded it is 0xFFFF ^ 0xC000 = 16383
    assert checksum_of(torch.tensor([1.0, 0.0], dtype=torch.bfloat16)) == (2, 16256, 16256**2)
    assert checksum_of(torch.tensor([1.0])) == (1, 0x3F800000, 16256**2)
    assert checksum_of(torch.tensor([1.0, -2.0], dtype=torch.bfloat16)) == (2, 16256 - 16384, 16256**2 + 16383**2)


def test_many_numbers_are_summed_in_parts() -> None:
    weight = torch.randn(ON_A_CPU * 2 + 3, generator=torch.Generator().manual_seed(0))
    bits = [int(number) for number in weight.view(torch.int32)]
    squares = sum(((number ^ (number >> 16)) & 0xFFFF) ** 2 for number in bits)
    assert checksum_of(weight) == (len(bits), sum(bits), squares)


def test_the_bytes_that_were_sent_are_those_of_the_precision_they_were_sent_in() -> None:
    model = torch.nn.Linear(3, 2)  # 6 weights and 2 biases
    assert (bytes_of(sent(model)), bytes_of(sent(model, torch.bfloat16))) == (8 * 4, 8 * 2)


def test_fused_transposed_and_reordered_weights_have_the_same_sum() -> None:
    generator = torch.Generator().manual_seed(0)
    query, key = torch.randn(6, 4, generator=generator), torch.randn(2, 4, generator=generator)
    separate = checksum_of(query).with_more(checksum_of(key))
    assert checksum_of(torch.cat([key, query])) == checksum_of(torch.cat([query, key]).T) == separate
    padded = torch.cat([query, key, torch.zeros(3, 4)])
    assert checksum_of(padded[:8]) == separate and checksum_of(padded)[1:] == separate[1:]


def test_one_number_that_is_off_by_its_last_digit_is_found() -> None:
    model, other = load_model("tiny")[0], load_model("tiny")[0]
    checksums = sent(model)
    assert agree(checksums, model_checksums(other.parameters())) is True
    with torch.no_grad():
        weight = next(other.parameters()).view(-1)
        weight[5] = torch.nextafter(weight[5], torch.tensor(2.0))
    assert agree(checksums, model_checksums(other.parameters())) is False


def test_what_is_held_in_half_of_the_digits_is_compared_in_these() -> None:
    model, half = load_model("tiny")[0], load_model("tiny")[0].to(torch.bfloat16)
    assert agree(sent(model), model_checksums(half.parameters())) is True
    assert agree(sent(model, torch.bfloat16), model_checksums(half.parameters())) is True
    assert agree(sent(model, torch.bfloat16), model_checksums(model.parameters())) is None


def test_tied_weights_count_once_on_either_side_and_one_that_comes_twice_once() -> None:
    model = load_model("tiny")[0]
    model.lm_head.weight = model.get_input_embeddings().weight
    sums = SentChecksums()
    for _ in range(2):
        for name, weight in PolicyWeights(model, torch.float32):
            sums.add(name, weight)
    assert agree(sums.total(), model_checksums(model.parameters())) is True


def test_weights_that_are_packed_or_mixed_are_not_compared() -> None:
    checksums = sent(torch.nn.Linear(4, 4))
    assert agree(checksums, model_checksums([torch.zeros(4, 4)])) is None
    assert agree(checksums, model_checksums([torch.zeros(4, 4), torch.zeros(4, dtype=torch.bfloat16)])) is None
    assert agree(checksums, {}) is None
