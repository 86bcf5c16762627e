"""The GPUs of this machine and their memory, as nvidia-smi lists them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.cluster import resources


def tool(folder: Path, script: str) -> None:
    """A stand-in for nvidia-smi."""
    file = folder / "nvidia-smi"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


@pytest.fixture
def in_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    resources._query_nvidia_smi.cache_clear()
    return tmp_path


def test_local_gpus_are_those_that_nvidia_smi_lists(in_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(in_path, "echo '0, GPU-aa11, 81559'; echo '1, GPU-bb22, 40960'")
    assert resources.local_gpu_memory() == (81559 * 1024**2, 40960 * 1024**2)
    for visible, found in {"1": (40960,), "GPU-aa": (81559,), "": (), "-1": (), "1,0": (40960, 81559)}.items():
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        assert resources.local_gpu_memory() == tuple(size * 1024**2 for size in found), visible


@pytest.mark.parametrize("script", ["exit 9", "echo 'No devices were found'", "echo '0, GPU-aa11, [N/A]'"])
def test_a_failing_nvidia_smi_gives_no_gpus(in_path: Path, script: str) -> None:
    tool(in_path, script)
    assert resources.local_gpu_memory() == ()
