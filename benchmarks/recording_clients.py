"""One client of a tracker in a training loop, in a process of its own: `recording` starts it and reads what it prints.

It has nothing but the standard library and the client, since it runs in the environment of the trackers.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

STEPS, VALUES = 400, 20
WORK = 5e-3  # seconds of a step
Values = dict[str, float]
Client = tuple[Callable[[Values, int], Any], Callable[[], Any]]


class Loop(NamedTuple):
    """Seconds of all steps, those of the processor for all threads, and of each call."""

    seconds: float
    cpu: float
    calls: list[float]


def main(name: str, address: str) -> None:
    count = loops_of(WORK)
    alone = min((loop(count, lambda values, step: None) for _ in range(3)), key=lambda one: one.seconds)
    found = {**in_a_loop(name, address, count, alone), **unpaced(name, address)}
    sys.stdout.write(json.dumps(found) + "\n")


def in_a_loop(name: str, address: str, count: int, alone: Loop) -> dict[str, float]:
    """What a call takes, and what the loop loses by all of them and by the client's threads: of its time, and of the
    processor's, which other programs on the machine change less."""
    log, finish = CLIENTS[name](address)
    log(values_of(0), 0)  # what the first call sets up is no cost of a step
    found = loop(count, log)
    finish()
    calls = sorted(found.calls)
    return {
        "log_us": 1e6 * statistics.median(calls),
        "log_p99_us": 1e6 * calls[int(0.99 * len(calls))],
        "loss_percent": 100 * (found.seconds / alone.seconds - 1),
        "cpu_percent": 100 * (found.cpu / alone.cpu - 1),
    }


def unpaced(name: str, address: str) -> dict[str, float]:
    """Values a second if nothing else is done between the calls, until all of it has been sent."""
    log, finish = CLIENTS[name](address)
    log(values_of(0), 0)
    began = time.perf_counter()
    for step in range(1, STEPS + 1):
        log(values_of(step), step)
    finish()
    return {"values_per_second": STEPS * VALUES / (time.perf_counter() - began)}


def loop(count: int, log: Callable[[Values, int], Any]) -> Loop:
    calls = []
    began, cpu = time.perf_counter(), time.process_time()
    for step in range(1, STEPS + 1):
        work(count)
        values = values_of(step)
        at = time.perf_counter()
        log(values, step)
        calls.append(time.perf_counter() - at)
    return Loop(time.perf_counter() - began, time.process_time() - cpu, calls)


def work(count: int) -> float:
    """Pure Python, which needs the interpreter's lock as a training loop between its kernels does."""
    total = 0.0
    for number in range(count):
        total += number * 0.5
    return total


def loops_of(seconds: float) -> int:
    count = 50_000
    work(count)
    began = time.perf_counter()
    work(count)
    return max(1, int(count * seconds / (time.perf_counter() - began)))


def values_of(step: int) -> dict[str, float]:
    return {f"bench/metric_{number}": step / (number + 1) for number in range(VALUES)}


def starboard(address: str) -> Client:
    from starboard_client import Recorder, Starboard

    url, _, token = address.partition("#")
    recorder = Recorder("bench", starboard=Starboard(url, token))
    return recorder.log, recorder.finish


def trackio(address: str) -> Client:
    import trackio

    trackio.init(project="bench", server_url=address, auto_log_gpu=False, auto_log_cpu=False)
    return lambda values, step: trackio.log(values, step=step), trackio.finish


def mlflow(address: str) -> Client:
    """Its asynchronous logging: the other waits for the server in each call."""
    import mlflow

    mlflow.set_tracking_uri(address)
    mlflow.set_experiment("bench")
    mlflow.start_run()

    def finish() -> None:
        mlflow.flush_async_logging()
        mlflow.end_run()

    return lambda values, step: mlflow.log_metrics(values, step=step, synchronous=False), finish


def mlflow_waiting(address: str) -> Client:
    """Its default, which waits for the server in each call."""
    import mlflow

    mlflow.set_tracking_uri(address)
    mlflow.set_experiment("bench")
    mlflow.start_run()
    return lambda values, step: mlflow.log_metrics(values, step=step), mlflow.end_run


def aim(address: str) -> Client:
    import aim

    run = aim.Run(repo=address, system_tracking_interval=None, capture_terminal_logs=False, log_system_params=False)
    return lambda values, step: run.track(values, step=step), run.close


CLIENTS: dict[str, Callable[[str], Client]] = {
    "starboard": starboard,
    "trackio": trackio,
    "mlflow": mlflow,
    "mlflow_waiting": mlflow_waiting,
    "aim": aim,
}


if __name__ == "__main__":
    main(*sys.argv[1:])
