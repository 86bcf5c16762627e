"""The identity of a model: a hash of the files that decide what it responds. No model is loaded.

It is SHA-256 over the name and the SHA-256 of each file, so that a checkpoint's manifest, which has these, gives it at
once. Of an endpoint only its address and the model's name there are known.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from engine.errors import ModelError
from engine.policies.model_paths import check_model_path, local_folder

ENDINGS = (".safetensors", ".bin", ".json", ".jinja", ".model", ".txt")
MANIFEST = "manifest.json"


def weights_of(path: str) -> str:
    """Of a model directory or a bundled model; empty for an id of the Hub that is no directory here."""
    check_model_path(path)
    folder = local_folder(path)
    if folder is None:
        return ""
    digests = _recorded(folder) or {file.name: _digest(file) for file in _files(folder)}
    return _combined(digests)


def weights_of_endpoint(url: str, model: str) -> str:
    return hashlib.sha256(json.dumps(["endpoint", url, model]).encode()).hexdigest()


def size_of(path: str) -> int:
    """Bytes that `weights_of` reads; 0 where a manifest has the hashes."""
    folder = local_folder(path)
    if folder is None or _recorded(folder):
        return 0
    return sum(file.stat().st_size for file in _files(folder))


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.is_file() and file.name.endswith(ENDINGS))


def _recorded(folder: Path) -> dict[str, str]:
    """From the manifest of the checkpoint whose `model` this is; empty without one."""
    try:
        manifest: dict[str, str] = json.loads((folder.parent / MANIFEST).read_text())
    except (OSError, ValueError):
        return {}
    prefix = f"{folder.name}/"
    names = {name.removeprefix(prefix): digest for name, digest in manifest.items() if name.startswith(prefix)}
    found = {name: digest for name, digest in names.items() if "/" not in name and name.endswith(ENDINGS)}
    there = {file.name for file in _files(folder)}
    return found if there == set(found) else {}


def _combined(digests: Mapping[str, str]) -> str:
    lines = "".join(f"{digests[name]}  {name}\n" for name in sorted(digests))
    return hashlib.sha256(lines.encode()).hexdigest()


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}.", remedy="Check its permissions.") from None
