"""Rows are trajectories; what a forward pass costs is counted by their contexts."""

from __future__ import annotations

import torch

from engine.rollout.batching import Batch, collate, micro_batches
from engine.rollout.types import Trajectory


def trajectory(*contexts: int, group: int = 0) -> Trajectory:
    """Contexts of so many tokens, the last of each sampled."""
    made = Trajectory(environment="", kind="", group=group, member=0, seed=0)
    for length in contexts:
        made.begin_context()
        made.append([7] * (length - 1))
        made.append([8], logprobs=[-1.0], entropies=[1.0])
    return made


def batch_of(*rows: tuple[int, ...]) -> Batch:
    return collate([trajectory(*contexts) for contexts in rows])


def test_contexts_are_numbered_in_each_row_and_padding_has_none() -> None:
    batch = batch_of((2, 3), (4,))
    assert batch.contexts.tolist() == [[0, 0, 1, 1, 1], [0, 0, 0, 0, -1]]
    assert batch.lengths.tolist() == [5, 4]
    assert [size.tolist() for size in batch.context_sizes()] == [[3, 4], [2, 1]]


def test_a_trajectory_that_names_no_contexts_is_one() -> None:
    made = Trajectory(environment="", kind="", group=0, member=0, seed=0)
    made.append([1, 2, 3])
    assert made.contexts() == [0, 0, 0]


def test_chosen_rows_keep_their_contexts_and_lose_their_padding() -> None:
    batch = batch_of((2, 3), (4,)).rows(torch.tensor([1]))
    assert batch.contexts.tolist() == [[0, 0, 0, 0]]


def test_micro_batches_of_one_context_a_row_are_cut_by_length() -> None:
    # at most 20 padded tokens: two rows of up to 10, then four of up to 5
    parts = micro_batches(torch.tensor([5, 10, 4, 9, 3, 2]), max_tokens=20)
    assert [part.tolist() for part in parts] == [[1, 3], [0, 2, 4, 5]]


def test_micro_batches_count_every_context_as_a_row_as_long_as_the_longest() -> None:
    # in order of the longest context: 6 (one), 5 (three), 4 (two), 3 (one)
    batch = batch_of((4, 4), (5, 2, 2), (6,), (3,))
    parts = batch.micro_batches(torch.arange(4), max_tokens=24)
    # 6 x (1 + 3) = 24 fits; then 4 x (2 + 1) = 12
    assert [part.tolist() for part in parts] == [[2, 1], [0, 3]]
    assert [part.tolist() for part in batch.micro_batches(torch.tensor([3, 1]), max_tokens=10)] == [[1], [3]]


def test_a_row_without_tokens_has_no_context() -> None:
    empty = Trajectory(environment="", kind="", group=0, member=0, seed=0)
    batch = collate([empty, trajectory(2)])
    assert [size.tolist() for size in batch.context_sizes()] == [[0, 2], [0, 1]]
    assert len(collate([empty]).micro_batches(torch.arange(1), max_tokens=8)) == 1
