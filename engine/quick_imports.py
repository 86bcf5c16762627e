"""Imports without garbage collection, which would take a quarter of their time: they create 750,000 objects, and the
collector goes through them again and again. Nothing of them is garbage.
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
