"""The cluster: `RAY_ADDRESS`'s, or one that is started on this machine and ends with this process."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any

from engine.cluster.faults import ClusterFault, NoCluster, Unanswered

ANSWER_SECONDS = 5.0
LOOK_SECONDS = 1.0
REPEAT_SECONDS = 60.0  # whoever watches takes silence for a run that hangs
NO_SPARE_WORKERS = {"prestart_worker_first_driver": False}  # Ray would start an idle process for each processor
START = "Start one with `ray start --head`, or unset RAY_ADDRESS to start one on this machine."


def connect(cores: int, *, namespace: str) -> str:
    """Connects this process; says to what. `NoCluster` when Ray is missing or nothing answers at the address,
    `ClusterFault` when none starts here.

    A cluster that is started here counts at least `cores` processors: a small machine may have fewer than there are
    processes, which then share them.
    """
    address = os.environ.get("RAY_ADDRESS", "")
    if not address:
        ask_for_a_token()
    ray = import_ray()
    common: dict[str, Any] = {
        "namespace": namespace,
        "log_to_driver": False,
        "logging_level": "warning",
        "ignore_reinit_error": True,
    }
    if not address:
        try:
            with own_signals():
                ray.init(
                    address="local",
                    num_cpus=max(os.cpu_count() or 1, cores),
                    include_dashboard=False,
                    _system_config=NO_SPARE_WORKERS,
                    **common,
                )
        except Exception as error:  # Ray gives its own processes half a minute, which is little on a busy machine
            raise ClusterFault(
                f"Ray did not start on this machine: {first_words(error)}",
                remedy="Where the machine is busy it may start when it is tried again. Ray's own logs are below "
                "/tmp/ray, or RAY_TMPDIR.",
            ) from error
        return "a Ray cluster on this machine"
    check_answers(address)
    try:
        with own_signals():
            ray.init(address=address, **common)
    except Exception as error:
        raise Unanswered(
            f"RAY_ADDRESS is {address!r}, and Ray cannot join it: {first_words(error)}", remedy=START
        ) from error
    return f"the Ray cluster at {address}"


def connect_again(
    cores: int, *, namespace: str, minutes: float, tell: Callable[[str], None], check_cancelled: Callable[[], None]
) -> str:
    """As `connect`, to a cluster that was there before and may have to be started anew: waits for it up to `minutes`
    (0: for ever). `tell` hears so, and `check_cancelled` raises to leave."""
    began, told_at = time.monotonic(), float("-inf")
    while True:
        try:
            return connect(cores, namespace=namespace)
        except Unanswered as error:
            if minutes and time.monotonic() - began > 60 * minutes:
                raise NoCluster(
                    f"{error.message} It did not come back within {minutes:g} minutes.",
                    remedy="Start it again and resume the run, or raise cluster.wait_minutes.",
                ) from error
            if time.monotonic() - told_at > REPEAT_SECONDS:
                told_at = time.monotonic()
                tell(f"waiting for Ray to come back. {error.message}")
        check_cancelled()
        time.sleep(LOOK_SECONDS)


def disconnect() -> None:
    """Ends a cluster that was started here. Nothing where there was no connection."""
    ray = sys.modules.get("ray")
    if ray is not None and ray.is_initialized():
        ray.shutdown()


@contextmanager
def own_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself, which would end the run without a checkpoint."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ask_for_a_token() -> None:
    """So that nobody else on this machine can give the cluster work. Ray reads it when it is imported."""
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


def import_ray() -> Any:
    # once shut down, any late question would start another cluster; Ray reads this when it is imported
    os.environ["RAY_ENABLE_AUTO_CONNECT"] = "0"
    try:
        import ray
    except ImportError:
        raise NoCluster(
            "The ray backend needs Ray, which is not installed.",
            remedy="Install requirements/cluster.txt, or set backend to local.",
        ) from None
    return ray


def check_answers(address: str) -> None:
    """Ray itself would try for a minute before it says that nobody is there."""
    host, separator, port = address.rpartition(":")
    if address in ("auto", "local"):
        return
    if not separator or not port.isdigit() or "/" in host:
        raise NoCluster(
            f"RAY_ADDRESS is {address!r}, which is no address of a cluster.",
            remedy="Give host:port of the head node, such as 10.0.0.1:6379, or auto.",
        )
    check_token(address, host.strip("[]"))
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_SECONDS).close()
    except OSError as error:
        raise Unanswered(
            f"RAY_ADDRESS is {address!r}, and nothing answers there: {error.strerror or error}.", remedy=START
        ) from None


def check_token(address: str, host: str) -> None:
    """Over a network only with one: whoever reaches a Ray that asks for none runs programs on its machines."""
    if not is_loopback(host) and os.environ.get("RAY_AUTH_MODE", "").lower() != "token":
        raise NoCluster(
            f"RAY_ADDRESS is {address!r}, which is reached over a network, and RAY_AUTH_MODE is not token.",
            remedy="Start Ray on all of its machines with RAY_AUTH_MODE=token and RAY_AUTH_TOKEN, or a file that "
            "RAY_AUTH_TOKEN_PATH names, and set the same for the run.",
        )


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def first_words(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]
