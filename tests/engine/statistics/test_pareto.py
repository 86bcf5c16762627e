"""The Pareto front by hand, and by its definition as a plain loop."""

from __future__ import annotations

import math
import random

from engine.statistics.pareto import pareto_front


def front_by_loop(cost: list[float], score: list[float]) -> list[bool]:
    def dominates(one: int, other: int) -> bool:
        no_worse = cost[one] <= cost[other] and score[one] >= score[other]
        return no_worse and (cost[one] < cost[other] or score[one] > score[other])

    points = [index for index in range(len(cost)) if not math.isnan(cost[index] + score[index])]
    return [
        index in points and not any(dominates(other, index) for other in points if other != index)
        for index in range(len(cost))
    ]


def test_a_front_by_hand() -> None:
    # 20 for .3 is dominated by 10 for .3, 40 for .5 by 30 for .6, and 50 for .6 by it too
    cost = [10, 20, 30, 40, 50, 60]
    score = [0.3, 0.3, 0.6, 0.5, 0.6, 0.7]
    assert pareto_front(cost, score).tolist() == [True, False, True, False, False, True]


def test_equal_points_are_on_the_front_together_and_unknown_ones_never() -> None:
    nan = math.nan
    assert pareto_front([1, 1, 1, 0, nan], [0.5, 0.5, 0.4, nan, 0.9]).tolist() == [True, True, False, False, False]
    assert pareto_front([], []).tolist() == []
    assert pareto_front([nan], [1.0]).tolist() == [False]


def test_it_equals_the_definition_on_random_points_with_many_ties() -> None:
    stream = random.Random(1)
    for _ in range(300):
        count = stream.randrange(1, 25)
        cost = [float(stream.randrange(6)) for _ in range(count)]
        score = [stream.choice([*range(6), math.nan]) for _ in range(count)]
        assert pareto_front(cost, score).tolist() == front_by_loop(cost, score)
