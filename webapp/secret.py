"""The secret key: from the environment, or made once and kept in the data directory, readable by its owner only."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

FILE_NAME = "secret_key"


def secret_key(given: str, data_dir: Path) -> str:
    """`given` if there is one, else the key in `data_dir`, which is made on first use with mode 0600."""
    return given or _kept(data_dir / FILE_NAME)


def _kept(file: Path) -> str:
    """Linked into place when whole, so that two processes that start at once agree on one key."""
    if not file.exists():
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = file.with_name(f"{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as stream:
            stream.write(secrets.token_urlsafe(64))
        with suppress(FileExistsError):
            file.hardlink_to(draft)
        draft.unlink()
    return file.read_text().strip()
