"""The benchmark of checkpoints, on a very small model."""

from __future__ import annotations

import json

import pytest

from benchmarks.checkpoint_writes import main
from benchmarks.gpu.models import SMALL
from benchmarks.operations import qwen2


def test_both_ways_of_writing_are_timed_and_the_bytes_are_those_of_the_state(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--tiny"]) == 0
    found = json.loads(capsys.readouterr().out)
    parameters = qwen2(SMALL).parameters
    assert found["parameters"] == parameters
    # weights and two moments, 4 bytes each; the files add headers, the tokenizer and counters
    assert 12 * parameters <= found["copied_bytes"] < 12.01 * parameters
    assert 12 * parameters < found["checkpoint_bytes"] < 13 * parameters
    assert found["still_seconds"].keys() == {"never", "always"}
    assert found["still_seconds"]["always"] <= found["write_seconds"]
    assert found["resume_seconds"] > 0 and found["update_seconds"] > 0
