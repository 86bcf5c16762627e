"""Truncated importance weights, by hand."""

from __future__ import annotations

import math

import torch

from engine.algorithms.importance import importance_weights


def test_a_token_counts_by_how_much_likelier_the_learner_finds_it_up_to_the_cap() -> None:
    # e^0.5 = 1.65, e^-0.5 = 0.61, e^3 = 20 above the cap of 2; the last was not sampled
    learner = torch.tensor([[-1.0, -1.0, -1.0, -9.0]])
    sampler = torch.tensor([[-1.5, -0.5, -4.0, -1.0]])
    mask = torch.tensor([[1.0, 1.0, 1.0, 0.0]])
    found = importance_weights(learner, sampler, mask, cap=2.0)
    torch.testing.assert_close(found, torch.tensor([[math.exp(0.5), math.exp(-0.5), 2.0, 1.0]]))


def test_where_both_agree_every_token_counts_once() -> None:
    same = torch.full((2, 3), -2.0)
    assert importance_weights(same, same, torch.ones(2, 3), cap=2.0).eq(1).all()


def test_a_cap_of_nothing_turns_it_off() -> None:
    learner, sampler = torch.zeros(1, 2), torch.full((1, 2), -5.0)
    assert importance_weights(learner, sampler, torch.ones(1, 2), cap=0.0).eq(1).all()
