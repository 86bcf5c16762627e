"""Whether this machine can keep AdamW's moments in 8 bits."""

from __future__ import annotations

import importlib.util


def eight_bits_installed() -> bool:
    return importlib.util.find_spec("bitsandbytes") is not None
