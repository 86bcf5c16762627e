"""Imports without garbage collection: an engine's create 750,000 objects, which the collector would go through again
and again, and nothing of them is garbage. `benchmarks.engine_start` measures what that saves.
"""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quick_imports() -> Iterator[None]:
    """Nothing is collected in the block. What it leaves is exempt from later collections too, which makes those
    shorter."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        atexit.register(_unfreeze_for_libraries)
        if enabled:
            gc.enable()


def _unfreeze_for_libraries() -> None:
    """Python collects at exit too, which takes a second. But libraries in C++ that come with torch take what is left
    then for leaks, and print it."""
    if "torch" in sys.modules:
        gc.unfreeze()
