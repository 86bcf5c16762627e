"""Supported platforms. Imports nothing that other systems lack, so that they get an explanation, not a traceback."""

from __future__ import annotations

import sys
from pathlib import Path


def why_unsupported(platform: str = sys.platform, proc: Path = Path("/proc")) -> str:
    """Empty on Linux, WSL 2 included; else the cause and the remedy."""
    if platform == "linux" and (proc / "self/stat").exists():
        return ""
    cause = "this is " + platform if platform != "linux" else f"{proc} is not mounted here"
    return (
        f"Starboard needs Linux, or WSL 2 on Windows, since it supervises runs through /proc; {cause}. "
        "Run the container image instead: see docker/compose.yml."
    )
