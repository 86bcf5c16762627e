"""What is on the disk at every moment, for a machine that loses its power then."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.event_lines import parse_event
from engine.training.session import EXIT_DONE, train
from tests.engine.models import save_small_model
from tests.engine.training.test_runs import run_config


@pytest.mark.parametrize("background", ["always", "never"])
def test_no_checkpoint_is_ahead_of_the_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, background: str) -> None:
    record = tmp_path / "run" / "events.jsonl"
    synced, on_disk_at = b"", dict[str, bytes]()  # the second: for each checkpoint, when it got its name
    fsync, rename = os.fsync, Path.rename

    def noting_sync(descriptor: int) -> None:
        nonlocal synced
        content = record.read_bytes() if record.exists() else b""
        fsync(descriptor)
        if Path(f"/proc/self/fd/{descriptor}").readlink() == record:
            synced = content

    def noting_rename(path: Path, target: Path) -> Path:
        if target.name.startswith("step_"):
            on_disk_at[target.name] = synced
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", noting_sync)
    monkeypatch.setattr(Path, "rename", noting_rename)
    config = run_config(
        save_small_model(tmp_path / "model"), steps=3, checkpoint={"every": 1, "background": background}
    )
    assert train(config, tmp_path / "run") == EXIT_DONE
    steps = {
        name: [event.step for line in content.splitlines() if (event := parse_event(line)).kind == "step_completed"]
        for name, content in on_disk_at.items()
    }
    assert steps == {"step_1": [1], "step_2": [1, 2], "step_3": [1, 2, 3]}
