"""What long responses cost."""

from __future__ import annotations

import pytest

from engine.config import RolloutConfig
from engine.rollout.overlong import length_penalty_of, soft_overlong
from tests.engine.rollout.builders import lake_config, roll_out


@pytest.mark.parametrize(
    ("tokens", "cost"),
    # a limit of 40 and a buffer of a quarter: free up to 30, then a tenth of the whole for each token
    [(0, 0.0), (30, 0.0), (31, -0.2), (35, -1.0), (40, -2.0), (41, -2.0)],
)
def test_a_response_begins_to_cost_within_the_buffer_and_costs_all_at_its_limit(tokens: int, cost: float) -> None:
    assert soft_overlong(tokens, 40, buffer=0.25, most=-2.0) == pytest.approx(cost)


def test_without_a_buffer_no_length_costs() -> None:
    assert length_penalty_of(RolloutConfig())(40, 40) == 0.0


def test_what_a_response_costs_is_part_of_its_penalty_and_of_the_score_but_not_of_the_return() -> None:
    plain, charged = (roll_out(lake_config(rollout=rollout)) for rollout in ({}, {"overlong_buffer": 1.0}))
    for before, after in zip(plain, charged, strict=True):
        assert [turn.response for turn in before.turns] == [turn.response for turn in after.turns]
        # with a buffer of the whole limit every token of 12 costs a twelfth
        costs = [-min(12, turn.response_end - turn.response_start) / 12 for turn in after.turns]
        assert [turn.length_penalty for turn in after.turns] == pytest.approx(costs)
        assert after.raw_return == before.raw_return
        assert after.score == pytest.approx(before.score + sum(costs))
