"""The compiler that `torch.compile` calls, on the machine that asks."""

from __future__ import annotations

import os
import shutil
import socket

from engine.errors import ModelError

# by device: what it is called, the variable that names it, the usual ones
COMPILERS = {
    "cpu": ("a C++ compiler", "CXX", ("g++", "clang++")),  # PyTorch's inductor
    "cuda": ("a C compiler", "CC", ("gcc", "clang")),  # Triton
}


def missing_compiler(device: str) -> str:
    """What `optimizer.compile_scores` needs on a `device` and this machine lacks; empty if it is here."""
    what, variable, usual = COMPILERS[device]
    chosen = os.environ.get(variable)
    if any(shutil.which(name) for name in ((chosen,) if chosen else usual)):
        return ""
    return f"{what}, {' or '.join(usual)} or the one that {variable} names"


def require_compiler(device: str) -> None:
    """`ModelError` that names this machine, which need not be the one that the run was launched on."""
    if missing := missing_compiler(device):
        raise ModelError(
            f"optimizer.compile_scores needs {missing}, which {socket.gethostname()} lacks.",
            remedy="Install one on every machine with a learner, or turn optimizer.compile_scores off.",
        )
