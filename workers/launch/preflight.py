"""Checks before anything is started: another Starboard in the same data directory, or a port in use."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from io import UnsupportedOperation
from pathlib import Path
from typing import TextIO

from django.core.exceptions import ImproperlyConfigured

from webapp.security.private_files import keep_private


class CannotStart(Exception):
    """The cause and the remedy."""


def take_lock(data_dir: Path, port: int) -> TextIO:
    """One Starboard per data directory. Held until the file is closed, which the kernel does for a killed process."""
    try:
        keep_private(data_dir)
    except (ImproperlyConfigured, OSError) as error:
        raise CannotStart(str(error)) from None
    file = _lock_file(data_dir / "launch.lock")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        raise CannotStart(
            f"Starboard already runs in {data_dir} ({file.read().strip() or 'starting'}). `make link` prints a link "
            "to it. To run a second one, give it its own data directory and port: make run STARBOARD_DATA_DIR=… PORT=…"
        ) from None
    except OSError as error:
        raise CannotStart(
            f"{data_dir / 'launch.lock'} cannot be locked: {error.strerror}. Set STARBOARD_DATA_DIR to a directory "
            "on a file system that has locks, such as a local disk."
        ) from None
    file.truncate(0)
    file.write(f"process {os.getpid()}, port {port}\n")
    file.flush()
    return file


def _lock_file(path: Path) -> TextIO:
    """Opened for reading and writing. Never what a link leads to: that would be emptied."""
    try:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600), "r+")
    except (OSError, UnsupportedOperation) as error:
        reason = "it is a link" if path.is_symlink() else str(error)
        raise CannotStart(f"{path} cannot be locked: {reason}. Remove it, then start again.") from None
    return file


def check_port(address: str, port: int) -> None:
    """By binding it for a moment."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address.strip("[]"), port))
        except OSError as error:
            raise CannotStart(_why(error, address, port)) from None


def _why(error: OSError, address: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} of {address} is in use by another program. Stop it, or choose another port: "
            f"make run PORT={port + 1}"
        )
    if error.errno == errno.EACCES:
        return f"Port {port} requires privileges. Choose one above 1023: make run PORT=8000"
    return f"{address}:{port} cannot be bound: {error.strerror}. Check STARBOARD_BIND and PORT."
