"""A local Hugging Face cache, laid out as huggingface_hub does: files by their hash, commits as folders of links, and a
file with the commit of each branch and tag."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest


def add_commit(cache: Path, repository: str, commit: str, files: Path, *, refs: tuple[str, ...] = ()) -> None:
    """The files of a directory as `commit` of `repository`, which the branches and tags `refs` point to."""
    folder = cache / f"models--{repository.replace('/', '--')}"
    snapshot = folder / "snapshots" / commit
    for one in (snapshot, folder / "blobs", folder / "refs"):
        one.mkdir(parents=True, exist_ok=True)
    for file in files.iterdir():
        blob = folder / "blobs" / hashlib.sha256(file.read_bytes()).hexdigest()
        blob.write_bytes(file.read_bytes())
        (snapshot / file.name).symlink_to(Path("../../blobs") / blob.name)
    for name in refs:
        (folder / "refs" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "refs" / name).write_text(commit)


def use_offline(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As HF_HUB_CACHE and HF_HUB_OFFLINE do, which are read when huggingface_hub is imported."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
