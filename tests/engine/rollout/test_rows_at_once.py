"""A cap on the rows that are decoded at once: the same trajectories, with less memory."""

from __future__ import annotations

import pytest
import torch

from engine.policies.batched_sampler import BatchedSampler
from tests.engine.models import small_model
from tests.engine.rollout.builders import WINDOWS, lake_config, roll_out

PROMPTS = [[20 + row, *range(30, 30 + 3 * row)] for row in range(7)]  # of 1 to 19 tokens


@pytest.mark.parametrize("at_once", [1, 4])
@pytest.mark.parametrize(("context", "turns"), WINDOWS)
def test_trajectories_do_not_depend_on_how_many_are_decoded_at_once(context: str, turns: int, at_once: int) -> None:
    whole = roll_out(lake_config(context, turns))
    capped = roll_out(lake_config(context, turns, rollout={"rows_at_once": at_once}))
    assert len({tuple(trajectory.ids) for trajectory in whole}) > 1
    same = [
        (one.ids, one.sampled, one.stop) == (other.ids, other.sampled, other.stop)
        for one, other in zip(whole, capped, strict=True)
    ]
    # a random number within rounding of the border between two tokens selects one or the other: on some processors one
    # of these six trajectories has such a number
    assert sum(same) >= len(same) - 1
    for one, other in zip(whole, capped, strict=True):
        equal = [left == right for left, right in zip(one.ids, other.ids, strict=False)]
        common = equal.index(False) if False in equal else len(equal)
        left, right = (torch.tensor(trajectory.logprobs[:common]) for trajectory in (one, other))
        torch.testing.assert_close(left, right, atol=1e-4, rtol=0)


@pytest.mark.parametrize("at_once", [0, 1, 3, 7, 9])
def test_the_cache_holds_no_more_rows_than_are_decoded_at_once(at_once: int) -> None:
    sampler = BatchedSampler(small_model(), rows=7, at_once=at_once, stop_ids=set(), temperature=1.0, seeds=[3])
    for row, ids in enumerate(PROMPTS):
        sampler.submit(row, ids, max_tokens=5 + row)
    lengths: dict[int, int] = {}
    while responses := sampler.advance():
        assert len(sampler.row_at) <= (at_once or 7)
        for response in responses:
            lengths[response.row] = len(response.ids)
            sampler.release(response.row)
    assert lengths == {row: 5 + row for row in range(7)}
    assert sampler.cache.keys[0].shape[0] == min(7, at_once or 7)
