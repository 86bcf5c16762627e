"""The URL prefix of static files. It changes when any of them does, so that browsers can cache files forever and never
mix the files of two versions: modules import each other by relative URLs below it."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path


def static_address(folder: Path) -> str:
    """`/static/<digest>/`, of the names and contents of all files in `folder`."""
    digest = sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return f"/static/{digest.hexdigest()[:12]}/"
