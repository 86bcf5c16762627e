"""The connection to Ray: the cluster at `RAY_ADDRESS`, or one that is started on this machine for this process."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from engine.addresses import is_this_machine
from engine.errors import ConfigError, RetryableFault

if TYPE_CHECKING:
    from engine.cluster.reporting import RunReporter

CONNECT_SECONDS = 5.0
POLL_SECONDS = 1.0
REPEAT_SECONDS = 60.0  # a run without any event for long is taken for one that hangs
NO_SPARE_WORKERS = {"prestart_worker_first_driver": False}  # Ray would start an idle process for each processor
START = "Start one with `ray start --head`, or unset RAY_ADDRESS to start one on this machine."


class ClusterFault(RetryableFault):
    """An actor, a node or Ray itself died, or a phase hangs. The run can resume from its last checkpoint."""


class ClusterUnavailable(ConfigError):
    """There is no cluster at the configured address, or not one that the run could use."""


class ClusterUnreachable(ClusterUnavailable):
    """Nothing responds at the address, or Ray cannot join it. A cluster that is starting looks the same."""


def connect(cores: int, *, namespace: str) -> str:
    """Connects this process and returns a description of the cluster. `ClusterUnavailable` when Ray is missing or
    nothing responds at the address, `ClusterFault` when Ray does not start on this machine.

    A cluster started here counts at least `cores` CPUs: a small machine may have fewer than the run has processes,
    which then share them.
    """
    address = os.environ.get("RAY_ADDRESS", "")
    if not address:
        require_token()
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
        except (
            Exception
        ) as error:  # Ray gives its own processes half a minute, which may be too short on a busy machine
            raise ClusterFault(
                f"Ray did not start on this machine: {first_line(error)}",
                remedy="If the machine is busy, try again. Ray's logs are below /tmp/ray, or RAY_TMPDIR.",
            ) from error
        return "a Ray cluster on this machine"
    check_reachable(address)
    try:
        with own_signals():
            ray.init(address=address, **common)
    except Exception as error:
        raise ClusterUnreachable(
            f"RAY_ADDRESS is {address!r}, and Ray cannot join it: {first_line(error)}", remedy=START
        ) from error
    return f"the Ray cluster at {address}"


def reconnect(cores: int, *, namespace: str, minutes: float, reporter: RunReporter) -> str:
    """`connect` for a cluster that was used before and may be restarting: waits for it up to `minutes` (0: without
    limit), reports that it waits, and checks for cancellation."""
    started, reported_at = time.monotonic(), float("-inf")
    while True:
        try:
            return connect(cores, namespace=namespace)
        except ClusterUnreachable as error:
            if time.monotonic() - reported_at > REPEAT_SECONDS:
                reported_at = time.monotonic()
                reporter.status(f"waiting for Ray to come back. {error.message}")
            if minutes and time.monotonic() - started > 60 * minutes:
                raise ClusterUnavailable(
                    f"{error.message} It did not come back within {minutes:g} minutes.",
                    remedy="Start it again and resume the run, or raise cluster.wait_minutes.",
                ) from error
        reporter.check_cancelled()
        time.sleep(POLL_SECONDS)


def disconnect() -> None:
    """Ends a cluster that was started here. Does nothing without a connection."""
    ray = sys.modules.get("ray")
    if ray is not None and ray.is_initialized():
        ray.shutdown()


@contextmanager
def own_signals() -> Iterator[None]:
    """Restores this process's signal handlers: Ray's own for SIGTERM would end the run without a checkpoint."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def require_token() -> None:
    """Sets a token, so that other users of this machine cannot submit work to the cluster. Ray reads it at import."""
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


def import_ray() -> Any:
    # without this a call after the shutdown would start another cluster; Ray reads it at import
    os.environ["RAY_ENABLE_AUTO_CONNECT"] = "0"
    try:
        import ray
    except ImportError:
        raise ClusterUnavailable(
            "The ray backend needs Ray, which is not installed.",
            remedy="Install requirements/cluster.txt, or set backend to local.",
        ) from None
    return ray


def check_reachable(address: str) -> None:
    """Fails fast: Ray itself would retry for a minute."""
    host, separator, port = address.rpartition(":")
    if address in ("auto", "local"):
        return
    if not separator or not port.isdigit() or "/" in host:
        raise ClusterUnavailable(
            f"RAY_ADDRESS is {address!r}, which is not the address of a cluster.",
            remedy="Give host:port of the head node, such as 10.0.0.1:6379, or auto.",
        )
    check_token(address, host.strip("[]"))
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        raise ClusterUnreachable(
            f"RAY_ADDRESS is {address!r}, and nothing responds there: {error.strerror or error}.", remedy=START
        ) from None


def check_token(address: str, host: str) -> None:
    """Requires a token over a network: anyone who can reach a Ray without one can run programs on its machines."""
    if not is_this_machine(host) and os.environ.get("RAY_AUTH_MODE", "").lower() != "token":
        raise ClusterUnavailable(
            f"RAY_ADDRESS is {address!r}, which is reached over a network, and RAY_AUTH_MODE is not token.",
            remedy="Start Ray on all of its machines with RAY_AUTH_MODE=token and RAY_AUTH_TOKEN, or a file that "
            "RAY_AUTH_TOKEN_PATH names, and set the same for the run.",
        )


def first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]
