"""How the C library keeps memory that was freed. No torch."""

from __future__ import annotations

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of mallopt(3)
LARGE = 1024**2  # bytes


def return_large_blocks() -> None:
    """Lets the C library give every block of a megabyte or more back to the system as soon as it is freed.

    By default it raises that limit to the largest block freed so far, up to 32 MiB, and keeps smaller ones on a heap
    that only shrinks from its end. The activations of a model with hundreds of millions of parameters are such blocks,
    of all sizes, and the heap of an update grew to twice of what was in use. Page faults make updates a few percent
    slower. Only glibc has it.
    """
    if sys.platform != "linux":
        return
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(M_MMAP_THRESHOLD, LARGE)
        set_option(M_TRIM_THRESHOLD, LARGE)
