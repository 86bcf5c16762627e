"""What a run has used: hours of devices that it held, and what they cost where prices are set."""

from __future__ import annotations

from itertools import pairwise
from typing import TypedDict

from django.conf import settings

from webapp.runs.models import Run


class Usage(TypedDict):
    """`device_hours` of `devices` GPUs, or of one machine's CPU; `words` is how a page says it."""

    devices: int
    unit: str
    device_hours: float
    cost: float | None
    words: str


def usage(run: Run) -> Usage:
    """A device is held from an attempt's start to its last word: loading, pauses and evaluations count."""
    attempts = list(run.events.filter(kind="run_started").order_by("seq").values_list("seq", "payload"))
    on_gpu = bool(attempts) and str(attempts[-1][1].get("device", "")).startswith(("cuda", "gpu"))
    devices = _gpus(run) if on_gpu else 1
    hours = devices * held_seconds(run, [(seq, payload["time"]) for seq, payload in attempts]) / 3600
    price = settings.GPU_HOUR_PRICE if on_gpu else settings.CPU_HOUR_PRICE
    unit = "GPU hours" if on_gpu else "CPU hours"
    cost = None if price is None else hours * price
    told = f"{hours:.2f} {unit}" + ("" if cost is None else f", {cost:.2f} {settings.CURRENCY}")
    return {"devices": devices, "unit": unit, "device_hours": round(hours, 4), "cost": cost, "words": told}


def held_seconds(run: Run, starts: list[tuple[int, float]]) -> float:
    """Over all attempts, given as the `seq` and time of their starts."""
    if not starts:
        return 0.0
    total = 0.0
    for (_, began), (next_seq, _) in pairwise(starts):
        last = run.events.filter(seq__lt=next_seq).order_by("-seq").values_list("time", flat=True).first()
        total += max(0.0, (last or began) - began)
    newest = run.last_progress.timestamp() if run.last_progress else starts[-1][1]
    return total + max(0.0, newest - starts[-1][1])


def _gpus(run: Run) -> int:
    """Learners, and the samplers that do not share their devices."""
    if run.config.get("backend") != "ray":
        return 1
    cluster = run.config.get("cluster", {})
    samplers = cluster.get("samplers", 1) * cluster.get("tensor_parallel", 1)
    learners = cluster.get("learners", 1)
    return int(max(samplers, learners) if cluster.get("placement") == "colocated" else samplers + learners)
