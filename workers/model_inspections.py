"""Inspects models for pages, in a process of its own: reading a foreign tokenizer may take long, or much memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from engine.environment_calls.helper import CallFailed
from workers.process import REPOSITORY, WITHHELD


def inspect(path: str, seconds: float, adapter: str = "") -> dict[str, Any]:
    """The report of `python -m engine inspect-model` as JSON; `CallFailed` where there is none."""
    command = [sys.executable, "-m", "engine", "inspect-model", "--json", f"--adapter={adapter}", "--", path]
    environment = {name: value for name, value in os.environ.items() if name not in WITHHELD}
    try:
        done = subprocess.run(
            command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )
        return dict(json.loads(done.stdout))
    except subprocess.TimeoutExpired:
        raise CallFailed(f"The model could not be inspected within {seconds:g} s. Try again.") from None
    except ValueError:
        last = done.stderr.strip().rpartition("\n")[2]
        raise CallFailed(f"The model could not be inspected: {last or f'status {done.returncode}'}") from None
