"""The speed of environments: what is timed, and how rates become ratios and tables."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from benchmarks.environments import cases, pools
from benchmarks.environments.__main__ import compared, summary
from benchmarks.environments.report import filled, pools_table, tables
from benchmarks.environments.timing import make, play
from benchmarks.environments.worker import worker
from engine.config import EnvironmentConfig


def busy(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


class Counted:
    """Resets of 2 ms, steps of 1 ms, choices of 5 ms, and episodes of four steps."""

    def __init__(self) -> None:
        self.seeds: list[int] = []
        self.left = 0

    def reset(self, seed: int) -> None:
        self.seeds.append(seed)
        self.left = 4
        busy(0.002)

    def choose(self) -> None:
        busy(0.005)

    def step(self) -> bool:
        self.left -= 1
        busy(0.001)
        return self.left == 0


def test_steps_and_resets_are_timed_separately_and_choosing_an_action_is_not() -> None:
    player = Counted()
    rates = play(player, seconds=0.03, first_seed=7, most_steps=50)
    # steps of 1 ms, resets of 2 ms, and 4 steps in each 6 ms of both
    assert rates.steps == pytest.approx(1000, rel=0.1)
    assert rates.resets == pytest.approx(500, rel=0.1)
    assert rates.with_resets == pytest.approx(4 / 0.006, rel=0.1)


def test_each_episode_and_problem_has_a_seed_of_its_own() -> None:
    player = Counted()
    play(player, seconds=0.02, first_seed=7, most_steps=2)
    assert player.seeds == list(range(7, 7 + len(player.seeds)))

    class Maker:
        seeds: list[int] = []

        def make(self, seed: int) -> None:
            self.seeds.append(seed)
            busy(0.002)

    rate = make(Maker(), seconds=0.02, first_seed=3)
    assert rate == pytest.approx(500, rel=0.1)
    assert Maker.seeds == list(range(3, 3 + len(Maker.seeds)))


def test_a_ratio_is_the_median_of_rounds_not_of_sides() -> None:
    # ratios 2, 1 and 4; the medians of the sides would give 20 / 10
    assert summary([20, 10, 40], [10, 10, 10]) == {
        "ours": 20.0,
        "theirs": 10.0,
        "ratio": 2.0,
        "lowest": 1.0,
        "highest": 4.0,
    }
    # a machine half as fast in the second round changes no ratio: 3, 3
    assert summary([300, 150], [100, 50])["ratio"] == 3.0


def test_ours_and_gymnasiums_lake_are_played_in_a_process_in_turn() -> None:
    index, pair = next((i, pair) for i, pair in enumerate(cases.STEPS) if pair.theirs_here)
    with worker(sys.executable) as here:
        rates = compared("steps", index, pair, here, here, ("steps", "resets"), rounds=1, seconds=0.01)
        with pytest.raises(SystemExit) as error:
            here.measure(suite="steps", index=999, side="ours", seconds=1, first_seed=0)
    assert rates["steps"]["ours"] > 1000 and rates["resets"]["theirs"] > 10
    assert "IndexError" in str(error.value)


@pytest.mark.parametrize("pair", [*cases.STEPS, *cases.PROBLEMS], ids=lambda pair: f"{pair.name}-{pair.library}")
def test_our_side_of_every_pair_can_be_measured(pair: cases.Pair) -> None:
    if pair in cases.PROBLEMS:
        assert make(pair.ours(), seconds=0.0, first_seed=1) > 0
    else:
        assert play(pair.ours(), seconds=0.0001, first_seed=1, most_steps=3).steps > 0


def test_kinds_without_a_server_are_in_the_table() -> None:
    found = cases.our_examples()
    assert {"bandit", "frozen_lake", "sokoban", "webshop", "spatial"} <= set(found)
    assert not {"http", "openenv", "lean", "deepcoder"} & set(found)


def test_a_batch_is_played_in_turn_and_in_threads() -> None:
    config = EnvironmentConfig.model_validate({"kind": "bandit"})
    specs = pools.batch(config, 0)[:6]
    assert pools.play_batch(specs, 0) > 0 and pools.play_batch(specs, 3) > 0


def test_tables_replace_those_of_the_document(tmp_path: Path) -> None:
    rate = {"ours": 1234.0, "theirs": 5.6, "ratio": 220.0, "lowest": 9.96, "highest": 300.0}
    pair = {"name": "Lake", "library": "gymnasium", "more": ""}
    result = {
        "examples": {"bandit": {"steps": 1000, "resets": 20, "with_resets": 9}},
        "steps": [pair | {"steps": rate, "resets": rate, "with_resets": rate}],
        "problems": [pair | {"problems": rate}],
    }
    text = filled("before\n<!-- problems -->\n\n| old |\n| --- |\n| 1 |\n\nafter\n", tables(result))
    row = "| Lake | gymnasium | 1,234 and 5.6 | 220 (10 to 300) | |"
    assert text.startswith("before\n<!-- problems -->\n\n| Problems |")
    assert row in text and "old" not in text and text.endswith("|\n\nafter\n")
    ways = {"in turn": {"seconds": 2.0, "processor_seconds": 1.5, "ratio": 1.0}}
    assert "| HTTP | in turn | 2.00 | 1.50 | 1 |" in pools_table({"turns": 5, "HTTP": ways})
