"""Whether this machine's GPUs still hold a process of a run that has ended, as listed by the driver's `nvidia-smi`.

A driver frees a killed process a moment later than the kernel, so the query is repeated. If it fails, or lists pids of
another namespace (in a container they are those of the machine), there is no result.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import time
from collections.abc import Collection
from pathlib import Path
from typing import TypedDict

from webapp.runs.models import Run
from workers.process import Sweep, identity_from_row, is_local, processes_with_cookie

QUERY_SECONDS = 10.0  # a driver without its persistence mode takes some to wake up
FREED_WITHIN = 5.0
FIRST_NAMESPACE = "pid:[4026531836]"  # of every Linux machine itself, whatever its containers have


class Gpus(TypedDict):
    free: bool
    description: str


def gpus_after(run: Run, swept: Sweep) -> Gpus | None:
    """What the GPUs hold of the run after its sweep; None if unknown."""
    engine = identity_from_row(run.process)
    elsewhere = run.config.get("backend") == "ray" and os.environ.get("RAY_ADDRESS")  # a cluster's own processes
    if engine is None or not is_local(engine) or elsewhere or not sees_all_processes():
        return None
    return gpus_without({engine.pid, *swept.killed, *swept.left}, engine.cookie)


def sees_all_processes() -> bool:
    return str(Path("/proc/self/ns/pid").readlink()) == FIRST_NAMESPACE


def gpus_without(known: Collection[int], cookie: str, *, seconds: float = FREED_WITHIN) -> Gpus | None:
    """Queries until no GPU holds a process of `known` or with the cookie, for `seconds` at most."""
    until = time.monotonic() + seconds
    while True:
        indices = {uuid: index for index, uuid in _query("--query-gpu=index,uuid") or ()}
        held = _query("--query-compute-apps=gpu_uuid,pid") if indices else None
        if held is None or not all(pid.isdecimal() for _, pid in held):
            return None
        ours = {*known, *(identity.pid for identity in processes_with_cookie(cookie))}
        found = sorted((indices.get(uuid, "?"), int(pid)) for uuid, pid in held if int(pid) in ours)
        if not found or time.monotonic() > until:
            return _result(list(indices.values()), found)
        time.sleep(0.2)


def _result(indices: list[str], found: list[tuple[str, int]]) -> Gpus:
    if found:
        description = "; ".join(f"GPU {index} still holds process {pid} of it" for index, pid in found)
        return {"free": False, "description": description}
    listed = " and ".join(filter(None, (", ".join(indices[:-1]), indices[-1])))
    return {"free": True, "description": f"GPU {listed} {'holds' if len(indices) == 1 else 'hold'} no process of it"}


def _query(query: str) -> list[tuple[str, str]] | None:
    """Rows of two columns; None where there is no driver, or it does not answer."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    try:
        completed = subprocess.run(
            [program, query, "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=QUERY_SECONDS,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    rows = [[word.strip() for word in row] for row in csv.reader(completed.stdout.splitlines())]
    return [(row[0], row[1]) for row in rows if len(row) == 2]
