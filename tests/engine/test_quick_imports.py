"""Imports are not interrupted by the garbage collector, which works as before afterwards."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import pytest

from engine.quick_imports import quick_imports


class Knot:
    """Refers to itself, so only the collector can free it."""

    def __init__(self) -> None:
        self.itself = self


def test_nothing_is_collected_in_the_block_and_garbage_from_after_it_is_collected_again() -> None:
    with quick_imports():
        before = weakref.ref(Knot())
        [[] for _ in range(100_000)]  # the collector would have run more than a hundred times
        assert before() is not None
    after = weakref.ref(Knot())
    gc.collect()
    assert after() is None and before() is not None  # what was there at the end of the block is exempt
    gc.unfreeze()
    gc.collect()
    assert before() is None


def test_a_collector_that_was_off_stays_off_and_one_that_was_on_is_on_also_after_a_failed_import() -> None:
    gc.disable()
    try:
        with quick_imports():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
    with pytest.raises(ModuleNotFoundError), quick_imports():
        raise ModuleNotFoundError
    assert gc.isenabled()


def test_a_training_process_exempts_its_libraries() -> None:
    script = "import engine.cluster.learner_actor, gc; print(gc.isenabled(), gc.get_freeze_count() > 100_000)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split() == ["True", "True"]
