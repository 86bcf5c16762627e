"""Whether this machine has the compiler that `torch.compile` calls."""

from __future__ import annotations

import os
import shutil

CPP = ("g++", "clang++")


def compiler_installed() -> bool:
    """The one that the variable CXX names, as PyTorch's inductor reads it, or one of the usual ones."""
    chosen = os.environ.get("CXX")
    return any(shutil.which(name) for name in ((chosen,) if chosen else CPP))
