"""Trajectories of 8,000 tokens through a whole step: sampled, trained on, recorded, and read again."""

from __future__ import annotations

from math import isfinite
from pathlib import Path

import pytest

from benchmarks.long_contexts import RESPONSE, measure

TOKENS = 8000
MIB = 1024**2


@pytest.mark.slow
def test_trajectories_of_8000_tokens_are_sampled_trained_on_recorded_and_read(tmp_path: Path) -> None:
    result = measure(tmp_path, tokens=TOKENS, trajectories=2)
    assert result["stops"] == ["context_full", "context_full"]
    # a trajectory ends where a prompt and a whole response would no longer fit
    assert all(TOKENS - 2 * RESPONSE < count <= TOKENS for count in result["tokens"])
    assert all(turns >= TOKENS // (2 * RESPONSE) for turns in result["turns"])
    assert isfinite(result["grad_norm"])
    # what the step took of memory, beyond a process that has loaded the same libraries, is at most what was planned
    assert result["peak_bytes"] - result["idle_bytes"] < result["planned_bytes"] + 100 * MIB
