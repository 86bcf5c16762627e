"""The device hours of a run, and their cost if prices are configured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypedDict

from django.conf import settings

from engine.events import RunStarted
from webapp.runs.models import Run
from webapp.runs.recorded_events import events_of


class Usage(TypedDict):
    """`device_hours` on `devices` GPUs or on the CPU of one machine; `text` is the summary that pages show."""

    devices: int
    unit: str
    device_hours: float
    cost: float | None
    text: str


def usage(run: Run) -> Usage:
    """Devices count from the start of an attempt to its last event, including loading, pauses and evaluations."""
    attempts = events_of(run, RunStarted)
    devices, kind = _devices(run, attempts)
    on_gpu = kind == "GPU"
    hours = devices * held_seconds(run, [(started.seq, started.time) for started in attempts]) / 3600
    price = settings.GPU_HOUR_PRICE if on_gpu else settings.CPU_HOUR_PRICE
    unit = f"{kind} hours"
    cost = None if price is None else hours * price
    text = f"{hours:.2f} {unit}" + ("" if cost is None else f", {cost:.2f} {settings.CURRENCY}")
    return {"devices": devices, "unit": unit, "device_hours": round(hours, 4), "cost": cost, "text": text}


def devices_of(run: Run) -> tuple[int, str]:
    """How many devices the run is trained on, and what they are: `GPU`, or `CPU` for that of one machine."""
    return _devices(run, events_of(run, RunStarted))


def _devices(run: Run, attempts: list[RunStarted]) -> tuple[int, str]:
    on_gpu = bool(attempts) and attempts[-1].device.startswith(("cuda", "gpu"))
    return (_gpus(run), "GPU") if on_gpu else (1, "CPU")


def held_seconds(run: Run, starts: list[tuple[int, float]]) -> float:
    """The sum over all attempts, given as the `seq` and time of their starts."""
    return sum(max(0.0, end - began) for began, end in _held(run, starts))


def device_hours_since(run: Run, since: float) -> float:
    """Of its devices, whatever they are, after the time `since`."""
    return hours_since(*held_by(run), since)


def held_by(run: Run) -> tuple[int, list[tuple[float, float]]]:
    """How many devices the run holds, and from when to when each attempt held them."""
    attempts = events_of(run, RunStarted)
    devices, _ = _devices(run, attempts)
    return devices, _held(run, [(started.seq, started.time) for started in attempts])


def hours_since(devices: int, held: Iterable[Sequence[float]], since: float) -> float:
    return devices * sum(max(0.0, end - max(began, since)) for began, end in held) / 3600


def _held(run: Run, starts: list[tuple[int, float]]) -> list[tuple[float, float]]:
    """From when to when each attempt held its devices."""
    if not starts:
        return []
    found = []
    for (_, began), (next_seq, _) in pairwise(starts):
        last = run.events.filter(seq__lt=next_seq).order_by("-seq").values_list("time", flat=True).first()
        found.append((began, last or began))
    newest = run.last_progress.timestamp() if run.last_progress else starts[-1][1]
    return [*found, (starts[-1][1], newest)]


def _gpus(run: Run) -> int:
    """GPUs of the learners, and of samplers that do not share them."""
    if run.config.get("backend") != "ray":
        return 1
    cluster = run.config.get("cluster", {})
    samplers = cluster.get("samplers", 1) * cluster.get("tensor_parallel", 1)
    learners = cluster.get("learners", 1)
    return int(max(samplers, learners) if cluster.get("placement") == "colocated" else samplers + learners)
