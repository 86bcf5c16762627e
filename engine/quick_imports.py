"""Imports without garbage collection: an engine's create 750,000 objects, which the collector would go through again
and again, and nothing of them is garbage. `benchmarks.engine_start` measures what that saves.
"""

from __future__ import annotations

import atexit
import gc
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
        atexit.register(gc.unfreeze)  # libraries in C++ take what is left at exit for leaks, and print it
        if enabled:
            gc.enable()
