"""Answers of the site about sweeps."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from starboard_client.models import Answer

SWEEP_ENDED = frozenset({"finished", "stopped"})


class Counts(Answer):
    total: int
    finished: int = 0
    failed: int = 0
    stopped: int = 0
    pruned: int = 0
    planned: int = 0
    live: int = 0
    ended: int = 0


class Sweep(Answer):
    id: int
    name: str
    state: str
    owner: str | None = None
    method: str
    axes: list[str]
    seeds: list[int]
    at_once: int
    retries: int
    priority: str
    created_at: str
    ended_at: str | None = None
    stopped_because: str = ""
    counts: Counts
    seconds_left: float | None = None

    @property
    def ended(self) -> bool:
        """Whether it launches no more runs, and none is queued or live."""
        return self.state in SWEEP_ENDED and not self.counts.live


class Estimate(Answer):
    """A mean over training seeds with its 95% interval, which needs two seeds or more."""

    mean: float
    low: float | None
    high: float | None
    seeds: int
    runs: int


class Level(Estimate):
    label: str


class Effect(Answer):
    axis: str
    levels: list[Level]


class Member(Answer):
    seed: int
    run: str | None
    state: str | None
    score: float | None
    problem: str = ""


class Configuration(Answer):
    labels: dict[str, str]
    changes: dict[str, Any]
    estimate: Estimate | None = None
    pruned: str = ""
    runs: list[Member] = Field(default_factory=list)


class Best(Answer):
    labels: dict[str, str]
    changes: dict[str, Any]
    estimate: Estimate
    compared: int
    equals: list[dict[str, str]] | None


class SweepDetail(Sweep):
    description: str = ""
    notes: str = ""
    curves: list[str] = Field(default_factory=list)
    measure: str
    plan: dict[str, Any]
    config: dict[str, Any]
    best: Best | None
    effects: list[Effect]
    configurations: list[Configuration]
    added: int = 0


class SweepPlan(Answer):
    """What a sweep would train; `problems` are why it cannot be created."""

    runs: int
    configurations: list[Configuration]
    seeds: list[int]
    steps: int
    trajectories: int
    engine_seconds: float | None
    wall_seconds: float | None
    earlier_runs: int
    problems: list[str]
    warnings: list[str]


class SweepPage(Answer):
    sweeps: list[Sweep]
    next: str | None
