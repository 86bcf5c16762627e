"""Moves this process into namespaces of its own, with a file system of read-only libraries and a scratch folder, under
Landlock. This file is run before `inside.py` where there is no bubblewrap, with the standard library alone.

Flags and structures are those of the kernel's headers: linux/sched.h, linux/mount.h, linux/landlock.h.
"""

import ctypes
import json
import os
import platform
import signal
import sys
from typing import Any

CLONE = {"user": 0x10000000, "mount": 0x20000, "pid": 0x20000000, "net": 0x40000000, "ipc": 0x8000000, "uts": 0x4000000}
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = (
    1,
    2,
    4,
    8,
    32,
    4096,
    16384,
    1 << 18,
)
MS_NOATIME, MS_NODIRATIME, MS_RELATIME = 1024, 2048, 1 << 21
MNT_DETACH = 2
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446  # on all architectures
READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read files, read folders
WRITE = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 12  # files, removal, new folders, files and links
REFER, TRUNCATE, IOCTL = 1 << 13, 1 << 14, 1 << 15
SCRATCH = "/scratch"


def enter() -> None:
    """Returns in process 1 of the new namespaces; the process that called waits for it and exits as it does."""
    asked = json.loads(sys.argv[1])
    libc = ctypes.CDLL(None, use_errno=True)
    os.umask(0o022)
    _unshare(libc, with_user=not asked["privileged"])
    child = os.fork()
    if child:
        os.close(1)  # the end of the output is the end of process 1
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    _checked(libc.prctl(1, int(signal.SIGKILL), 0, 0, 0), "prctl(PR_SET_PDEATHSIG)")
    _change_root(libc, asked["root"], asked["readable"], asked["scratch_bytes"])
    _checked(libc.prctl(38, 1, 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)")
    _restrict_files(libc)
    if not asked["privileged"]:
        _drop_capabilities(libc)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _unshare(libc: Any, *, with_user: bool) -> None:
    user, group = os.getuid(), os.getgid()
    flags = sum(flag for name, flag in CLONE.items() if with_user or name != "user")
    _checked(libc.unshare(flags), "unshare")
    if with_user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123
                file.write(text)


def _change_root(libc: Any, root: str, readable: list[str], scratch_bytes: int) -> None:
    """Makes a file system at the empty folder `root` with nothing but `readable`, /dev/null and the scratch folder."""

    def mount(source: str | None, target: str | None, kind: str | None, flags: int, data: str = "") -> None:
        arguments = [None if one is None else os.fsencode(one) for one in (source, target, kind)]
        _checked(libc.mount(*arguments, ctypes.c_ulong(flags), data.encode()), f"mount {target}")

    mount(None, "/", None, MS_REC | MS_PRIVATE)
    mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755")
    for path in readable:
        if os.path.islink(path):  # noqa: PTH114
            os.symlink(os.readlink(path), root + path)  # noqa: PTH115, PTH211
            continue
        os.makedirs(root + path, exist_ok=True)  # noqa: PTH103
        mount(path, root + path, None, MS_BIND | MS_REC)
        mount(None, root + path, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | _locked_flags(path))
    os.mkdir(f"{root}/dev")  # noqa: PTH102
    os.close(os.open(f"{root}/dev/null", os.O_CREAT))
    mount("/dev/null", f"{root}/dev/null", None, MS_BIND)
    os.mkdir(root + SCRATCH)  # noqa: PTH102
    mount("tmpfs", root + SCRATCH, "tmpfs", MS_NOSUID | MS_NODEV, f"size={scratch_bytes},mode=1777")
    os.chdir(root)
    _checked(libc.syscall(PIVOT_ROOT[platform.machine()], b".", b"."), "pivot_root")
    _checked(libc.umount2(b".", MNT_DETACH), "umount2")
    os.chdir("/")
    mount(None, "/", None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)
    os.chdir(SCRATCH)


def _locked_flags(path: str) -> int:
    """Flags of the mount that holds `path`, which a user namespace must not clear."""
    flags = os.statvfs(path).f_flag
    kept = flags & (MS_NOEXEC | MS_NOATIME | MS_NODIRATIME)
    return kept | (MS_RELATIME if flags & 4096 else 0)


def _restrict_files(libc: Any) -> None:
    version = libc.syscall(LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)
    _checked(version, "Landlock")
    rights = (
        0x1FFF | (REFER if version >= 2 else 0) | (TRUNCATE if version >= 3 else 0) | (IOCTL if version >= 5 else 0)
    )
    network = 3 if version >= 4 else 0  # bind and connect by TCP
    scoped = 3 if version >= 6 else 0  # abstract sockets and signals
    ruleset = (ctypes.c_uint64 * 3)(rights, network, scoped)
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = _checked(libc.syscall(LANDLOCK_CREATE, ruleset, ctypes.c_size_t(size), 0), "landlock_create_ruleset")
    writable = (READ | WRITE | REFER | TRUNCATE) & rights
    for path, allowed in (("/", READ), (SCRATCH, writable), ("/dev/null", (1 << 1 | 1 << 2 | TRUNCATE) & rights)):
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = ctypes.create_string_buffer(allowed.to_bytes(8, "little") + parent.to_bytes(4, "little"), 12)
        _checked(libc.syscall(LANDLOCK_ADD, rules, 1, rule, 0), f"landlock_add_rule {path}")
        os.close(parent)
    _checked(libc.syscall(LANDLOCK_RESTRICT, rules, 0), "landlock_restrict_self")
    os.close(rules)


def _drop_capabilities(libc: Any) -> None:
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    _checked(libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")
