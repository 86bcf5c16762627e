"""The secret key: from the environment, or generated once and stored in the data directory, readable by its owner."""

from __future__ import annotations

import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

FILE_NAME = "secret_key"


def secret_key(given: str, data_dir: Path) -> str:
    """`given`, or else the key in `data_dir`, which is created on first use with mode 0600."""
    return given or _stored(data_dir / FILE_NAME)


def installation_name(key: str) -> str:
    """Eight hexadecimal digits, of all processes that share the secret key; they do not reveal it."""
    return hmac.new(key.encode(), b"installation", "sha256").hexdigest()[:8]


def _stored(file: Path) -> str:
    """Writes the key atomically, so that processes that start at the same time agree on one."""
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
