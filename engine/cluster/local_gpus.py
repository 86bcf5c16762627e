"""The NVIDIA GPUs of this machine, as NVIDIA's own tool tells of them. No torch: the launch form asks."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache

PATIENCE = 5.0  # seconds
MIB = 1024**2


def gpus_here() -> tuple[int, ...]:
    """Bytes of memory of each that this process may use; nothing where there is none, or none that is known."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    found = _told_by(shutil.which("nvidia-smi") or "")
    if visible is None:
        return tuple(memory for _, _, memory in found)
    wanted = [name.strip() for name in visible.split(",") if name.strip()]
    return tuple(
        memory
        for name in wanted
        for index, serial, memory in found
        if name == index or (name.startswith("GPU-") and serial.startswith(name))
    )


@cache
def _told_by(tool: str) -> tuple[tuple[str, str, int], ...]:
    """Number, serial and bytes of each."""
    if not tool:
        return ()
    command = [tool, "--query-gpu=index,uuid,memory.total", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
        lines = [line.split(", ") for line in done.stdout.splitlines()]
        return tuple((index, serial, int(memory) * MIB) for index, serial, memory in lines)
    except (OSError, ValueError, subprocess.SubprocessError):
        return ()
