"""Libraries that use the global generators get one that is as good as their own."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from engine.environments.suites import randomness
from engine.environments.suites.randomness import Randomness


def draw(own: Randomness) -> tuple[float, float]:
    with own.installed():
        return random.random(), float(np.random.random())


def seeded(seed: int) -> Randomness:
    own = Randomness()
    own.seed(seed)
    return own


def test_interleaved_draws_are_those_of_each_alone() -> None:
    alone = [[draw(own) for _ in range(3)] for own in (seeded(1), seeded(2))]
    one, two = seeded(1), seeded(2)
    together = [(draw(one), draw(two)) for _ in range(3)]
    assert [list(pair) for pair in zip(*together, strict=True)] == alone
    assert alone[0] != alone[1]


def test_the_global_generators_are_left_as_they_were() -> None:
    before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index, union-attr]
    draw(seeded(1))
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # type: ignore[index, union-attr]


def test_threads_do_not_mix() -> None:
    expected = [[draw(own) for _ in range(200)] for own in (seeded(1), seeded(2))]
    with ThreadPoolExecutor(2) as pool:
        played = list(pool.map(lambda seed: [draw(own) for own in [seeded(seed)] for _ in range(200)], (1, 2)))
    assert played == expected


def test_a_seed_is_all_of_its_words() -> None:
    first, second = Randomness(), Randomness()
    first.seed(2**31, 1)
    second.seed(2**31, 2)
    assert draw(first) != draw(second)


def test_one_that_hangs_is_reported_by_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(randomness, "PATIENCE", 0.05)
    inside, done = threading.Event(), threading.Event()

    def hang() -> None:
        with seeded(1).installed():
            inside.set()
            done.wait(10)

    thread = threading.Thread(target=hang)
    thread.start()
    inside.wait(10)
    try:
        with pytest.raises(TimeoutError, match="another environment has had the global random generators"):
            draw(seeded(2))
    finally:
        done.set()
        thread.join()
    assert draw(seeded(2)) == draw(seeded(2))
