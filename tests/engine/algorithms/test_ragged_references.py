"""Estimators without a critic, and the value loss, against plain loops over lists: random scores on ragged rows."""

from __future__ import annotations

import math
import statistics

import pytest
import torch
from torch import Tensor

from engine.algorithms.advantages import grpo, reinforce_plus_plus, reinforce_plus_plus_baseline, remax, rloo
from engine.algorithms.losses import value_loss
from tests.engine.algorithms.builders import normal, ragged_mask, seeded

ROWS, WIDTH = 7, 13
GROUPS = [3, 0, 3, 0, 0, 9, 3]  # three of one, three of another, and one alone
SEEDS = range(8)

Numbers = list[float]


def ragged(seed: int) -> tuple[Tensor, Tensor]:
    """Scores (B,) and a mask (B, T) whose last row is empty."""
    generator = seeded(seed)
    return normal(generator, ROWS), ragged_mask(generator, rows=ROWS, width=WIDTH)


def over_tokens(by_row: Numbers, mask: Tensor) -> Tensor:
    """Each row's number on its sampled tokens, 0 elsewhere."""
    return torch.tensor([[one * on for on in row] for one, row in zip(by_row, mask.tolist(), strict=True)])


def others(row: int) -> list[int]:
    return [other for other in range(ROWS) if GROUPS[other] == GROUPS[row] and other != row]


def whitened(rows: list[Numbers], mask: Tensor) -> Tensor:
    """Less the mean of all sampled tokens, over the root of their unbiased variance."""
    on = mask.tolist()
    sampled = [x for row, marks in zip(rows, on, strict=True) for x, mark in zip(row, marks, strict=True) if mark]
    mean, scale = statistics.fmean(sampled), math.sqrt(statistics.variance(sampled) + 1e-8)
    return torch.tensor(
        [
            [(x - mean) / scale if mark else 0.0 for x, mark in zip(row, marks, strict=True)]
            for row, marks in zip(rows, on, strict=True)
        ]
    )


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scale_by_std", [True, False])
def test_grpo(seed: int, scale_by_std: bool) -> None:
    scores, mask = ragged(seed)
    given, expected = scores.tolist(), []
    for row, score in enumerate(given):
        members = [score, *(given[other] for other in others(row))]
        if len(members) == 1:
            expected.append(score / (1 + 1e-6) if scale_by_std else score)
            continue
        centred = score - statistics.fmean(members)
        expected.append(centred / (statistics.stdev(members) + 1e-6) if scale_by_std else centred)
    close(grpo(scores, torch.tensor(GROUPS), mask, scale_by_std=scale_by_std), over_tokens(expected, mask))


@pytest.mark.parametrize("seed", SEEDS)
def test_rloo(seed: int) -> None:
    scores, mask = ragged(seed)
    given = scores.tolist()
    expected = [
        score - (statistics.fmean(given[other] for other in others(row)) if others(row) else 0.0)
        for row, score in enumerate(given)
    ]
    close(rloo(scores, torch.tensor(GROUPS), mask), over_tokens(expected, mask))


@pytest.mark.parametrize("seed", SEEDS)
def test_remax(seed: int) -> None:
    scores, mask = ragged(seed)
    greedy = normal(seeded(seed + 100), ROWS)
    expected = [score - base for score, base in zip(scores.tolist(), greedy.tolist(), strict=True)]
    close(remax(scores, greedy, mask), over_tokens(expected, mask))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("across_turns", [True, False])
def test_reinforce_plus_plus(seed: int, across_turns: bool) -> None:
    _, mask = ragged(seed)
    rewards = normal(seeded(seed + 200), ROWS, WIDTH)
    gamma, expected = 0.9, []
    for values, on in zip(rewards.tolist(), mask.tolist(), strict=True):
        to_go = [0.0] * WIDTH
        running = 0.0
        for index in reversed(range(WIDTH)):
            if on[index]:
                running = values[index] + gamma * running
                to_go[index] = running
            elif not across_turns:
                running = 0.0
        expected.append(to_go)
    found = reinforce_plus_plus(rewards, mask, gamma=gamma, across_turns=across_turns)
    close(found, whitened(expected, mask))


@pytest.mark.parametrize("seed", SEEDS)
def test_reinforce_plus_plus_baseline(seed: int) -> None:
    scores, mask = ragged(seed)
    given, centred = scores.tolist(), []
    for row, score in enumerate(given):
        members = [score, *(given[other] for other in others(row))]
        centred.append(score if len(members) == 1 else score - statistics.fmean(members))
    found = reinforce_plus_plus_baseline(scores, torch.tensor(GROUPS), mask)
    close(found, whitened([[one] * WIDTH for one in centred], mask))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("clip", [0.2, 0.5, math.inf])
def test_the_value_loss(seed: int, clip: float) -> None:
    _, mask = ragged(seed)
    generator = seeded(seed + 300)
    values, old, returns = (normal(generator, ROWS, WIDTH) for _ in range(3))
    squares = []
    for now, before, target, on in zip(*(one.flatten().tolist() for one in (values, old, returns, mask)), strict=True):
        near = before + min(max(now - before, -clip), clip)
        if on:
            squares.append(max((now - target) ** 2, (near - target) ** 2))
    found = value_loss(values, old, returns, mask, clip=clip)
    assert float(found) == pytest.approx(0.5 * statistics.fmean(squares), rel=1e-5)
