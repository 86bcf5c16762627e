"""Processes by identity: which process an engine is, whether it is alive, and how it is signalled and swept.

A pid alone identifies nothing, since pids are reused: an identity also has the start time, the boot, the pid namespace
and the cookie `STARBOARD_RUN` of the environment. Linux only (`/proc`, pidfd).
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import time
from dataclasses import asdict, dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from workers import keeper

PROC = Path("/proc")
LOCKS_WITHIN = 60.0  # seconds from an engine's start to its lock on the run directory, imports of torch included
COOKIE_VARIABLE = "STARBOARD_RUN"
APPEARS_WITHIN = 5.0  # seconds from the start of a keeper to that of its engine
REPOSITORY = Path(__file__).resolve().parent.parent
# Variables that an engine does not need, or that would expose it.
WITHHELD = (
    "DATABASE_URL", "REDIS_URL", "SECRET_KEY", "EMAIL_HOST_PASSWORD", "DJANGO_SETTINGS_MODULE",
    "VLLM_ALLOW_INSECURE_SERIALIZATION", "STARBOARD_METRICS_TOKEN", "STARBOARD_OIDC_CLIENT_SECRET",
    *(name for name in os.environ if name.startswith("STARBOARD_SOCIAL_") and name.endswith("_CLIENT_SECRET")),
    # of the bucket with copies of runs
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN",
)  # fmt: skip


class Liveness(Enum):
    ALIVE = "alive"
    GONE = "gone"
    UNKNOWN = "unknown"  # on a machine that this process cannot see


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    pid: int
    start_time: int  # /proc/<pid>/stat, field 22: ticks since boot
    boot_id: str
    host: str
    cookie: str

    def as_row(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stat:
    state: str
    parent: int
    session: int
    start_time: int


def identity_from_row(row: dict[str, Any]) -> Identity | None:
    """The identity stored in a run's row, or None where only a cookie, or nothing, is stored yet."""
    if "pid" not in row:
        return None
    return Identity(**{field: row[field] for field in Identity.__slots__})


@cache
def boot_id() -> str:
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


@cache
def host() -> str:
    """Names the pid namespace: two containers on one machine are two hosts."""
    return f"{socket.gethostname()}/{(PROC / 'self/ns/pid').readlink()}"


def is_local(identity: Identity) -> bool:
    """Of this pid namespace: its number is reused, so it must also have existed when the process started."""
    first = read_stat(1)
    namespace_start = first.start_time if first else 0
    return (identity.host, identity.boot_id) == (host(), boot_id()) and identity.start_time >= namespace_start


def identify(pid: int, cookie: str) -> Identity | None:
    stat = read_stat(pid)
    if stat is None or stat.state == "Z":
        return None
    return Identity(pid=pid, start_time=stat.start_time, boot_id=boot_id(), host=host(), cookie=cookie)


def read_stat(pid: int) -> Stat | None:
    """None when there is no such process."""
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # the name in parentheses may itself hold spaces and parentheses
    fields = text[text.rindex(")") + 2 :].split()
    return Stat(state=fields[0], parent=int(fields[1]), session=int(fields[3]), start_time=int(fields[19]))


def liveness(identity: Identity, lock: Path | None = None) -> Liveness:
    """`lock` is the file that the process holds locked while it lives: it shows processes in other containers of this
    machine."""
    if identity.host != host():
        if identity.boot_id == boot_id():
            gone = lock is not None and _age(identity) > LOCKS_WITHIN and _is_free(lock)
            return Liveness.GONE if gone else Liveness.UNKNOWN
        same_machine = identity.host.split("/")[0] == host().split("/")[0]
        return Liveness.GONE if same_machine else Liveness.UNKNOWN
    if identity.boot_id != boot_id():
        return Liveness.GONE
    stat = read_stat(identity.pid)
    if stat is None or stat.state in "ZX" or stat.start_time != identity.start_time:
        return Liveness.GONE
    return Liveness.ALIVE


def _age(identity: Identity) -> float:
    """Seconds since it was started, by the clock of this boot."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - identity.start_time / os.sysconf("SC_CLK_TCK")


def _is_free(lock: Path) -> bool:
    """Whether no process holds it. One kernel keeps all locks of a file, whichever container they are taken in."""
    try:
        with lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # held, or absent, which proves nothing
        return False
    return True


def lock_is_held(lock: Path) -> bool:
    """Whether a process holds it, so that an engine is running there. An absent lock is not held."""
    return lock.exists() and not _is_free(lock)


def send_signal(identity: Identity, number: signal.Signals) -> bool:
    """Signals exactly that process, through a pidfd whose identity was read again; False if it is gone."""
    try:
        descriptor = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return False
    try:
        if liveness(identity) is not Liveness.ALIVE:
            return False
        signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)
    return True


def processes_with_cookie(cookie: str) -> list[Identity]:
    """Every running process of ours whose environment has the cookie, whatever its parent is now, and what those
    started: Ray's actors write their names over their environment, and others clear it. Without keepers, which end by
    themselves."""
    everyone = [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]
    pids, keepers = _with_cookie(cookie, everyone)
    if pids or keepers:
        pids |= _descendants(pids | keepers, everyone)
    found = [identify(pid, cookie) for pid in sorted(pids - keepers)]
    return [identity for identity in found if identity is not None]


def keepers_of(cookie: str) -> list[Identity]:
    everyone = [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]
    found = [identify(pid, cookie) for pid in _with_cookie(cookie, everyone)[1]]
    return [identity for identity in found if identity is not None]


def _with_cookie(cookie: str, everyone: list[int]) -> tuple[set[int], set[int]]:
    """Those whose environment has it: engines with what they started, and keepers."""
    wanted, mark = f"{COOKIE_VARIABLE}={cookie}".encode(), f"{keeper.MARK}=1".encode()
    pids: set[int] = set()
    keepers: set[int] = set()
    for pid in everyone:
        variables = _environment(pid)
        if wanted in variables:
            (keepers if mark in variables else pids).add(pid)
    return pids, keepers


def _descendants(pids: set[int], everyone: list[int]) -> set[int]:
    children: dict[int, list[int]] = {}
    for pid in everyone:
        if (stat := read_stat(pid)) is not None:
            children.setdefault(stat.parent, []).append(pid)
    found: set[int] = set()
    waiting = [child for pid in pids for child in children.get(pid, [])]
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting += children.get(pid, [])
    return found


def _environment(pid: int) -> list[bytes]:
    try:
        return (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:  # gone meanwhile, or another user's
        return []


def find_leader(cookie: str) -> Identity | None:
    """The engine itself among the processes with the cookie: the leader of its session. What it starts may lead
    sessions of its own, as Ray's processes do, and is younger. A keeper that was just started will have an engine."""
    deadline = time.monotonic() + APPEARS_WITHIN
    while True:
        kept = keepers_of(cookie)
        found = [(identity, read_stat(identity.pid)) for identity in processes_with_cookie(cookie)]
        leaders = [identity for identity, stat in found if stat is not None and stat.session == identity.pid]
        if leaders or not kept or time.monotonic() > deadline:
            return min(leaders, key=lambda leader: leader.start_time, default=None)
        time.sleep(0.05)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    killed: list[int]
    left: list[int]  # processes that SIGKILL did not end in time
    unwatched: bool = False  # nobody was left to see processes that have left their parents and environment


def sweep(cookie: str, *, seconds: float) -> Sweep:
    """SIGKILLs everything that carries the cookie, or comes from what does, until nothing is left, seen twice, and the
    keeper has ended."""
    killed: set[int] = set()
    deadline = time.monotonic() + seconds
    empty = 0
    while empty < 2:
        found = processes_with_cookie(cookie)
        remaining = found or keepers_of(cookie)
        empty = 0 if remaining else empty + 1
        if remaining and time.monotonic() > deadline:
            return Sweep(killed=sorted(killed), left=sorted(identity.pid for identity in remaining))
        for identity in found:
            if send_signal(identity, signal.SIGKILL):
                killed.add(identity.pid)
        time.sleep(0.05)
    return Sweep(killed=sorted(killed), left=[])
