"""Answers of the site. Fields that a newer site adds are kept, so that nothing breaks."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

ENDED = frozenset({"finished", "stopped", "failed", "crashed"})


class Answer(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class Health(Answer):
    """The verdict in short."""

    label: str
    title: str
    level: str
    reason: str


class Run(Answer):
    id: str
    name: str
    state: str
    label: str
    reason: str = ""
    remedy: str = ""
    ended_by: str = ""
    shown_as: str = ""
    end_cause: str = ""
    stop_requested_by: str = ""
    health: Health | None = None
    step: int
    total_steps: int
    tokens: int = 0
    seconds: float = 0.0
    eta_seconds: float | None = None
    last_seq: int = 0
    metrics: dict[str, float | None] = Field(default_factory=dict)
    project: str = ""
    tags: list[str] = Field(default_factory=list)
    notes: str = ""
    preset: str = ""
    created_at: str = ""
    finished_at: str | None = None
    sort_value: float | str | None = None  # what a sorted list is sorted by

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def succeeded(self) -> bool:
        """Whether it took all its steps, and no alert rule ended it."""
        return self.state == "finished" and not self.ended_by


class RunDetail(Run):
    config: dict[str, Any]
    verdict: dict[str, Any] | None = None


class SizedDefault(Answer):
    field: str
    value: Any
    instead_of: Any


class Launched(RunDetail):
    sized_defaults: list[SizedDefault] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)


class RunPage(Answer):
    runs: list[Run]
    next: str | None


class EventPage(Answer):
    events: list[dict[str, Any]]
    last_seq: int
    more: bool


class MetricColumns(Answer):
    """Columns of equal length, with an entry for each step; None where a step lacks the metric."""

    steps: list[int]
    tokens: list[int]
    seconds: list[float]
    times: list[float]
    series: dict[str, list[float | None]]


class LogPiece(Answer):
    text: str
    start: int
    end: int
    size: int


class Alert(Answer):
    seq: int
    step: int
    rule: str
    severity: str
    message: str
    metric: str = ""
    value: float = 0.0
    baseline: float | None = None
    since: int | None = None


class RecordProblem(Answer):
    """Something wrong with the record of a run: a line that is no event, or events that are missing."""

    kind: str
    offset: int  # bytes from the beginning of `events.jsonl`
    reason: str


class Evaluation(Answer):
    """Held-out success with its 95% interval."""

    step: int
    environment: str
    episodes: int
    successes: int
    success: float
    low: float
    high: float
    mean_return: float
    final: bool = False


class Turn(Answer):
    actions: list[str]
    reward: float | None
    parse: str


class Trajectory(Answer):
    """`messages` and `played`, a row for each response, and `preview` only if they were asked for."""

    id: int
    step: int
    split: str
    environment: str
    group: int
    member: int
    success: bool
    episode_return: float
    turns: int
    seed: int
    advantage: float | None = None
    group_std: float | None = None
    kept: bool | None = None
    response_tokens: int = 0
    parse_failures: int = 0
    faults: list[str] = Field(default_factory=list)
    surplus: int = 0
    stop: str = ""
    attempt: int = 1
    superseded: bool = False
    messages: list[dict[str, str]] | None = None
    played: list[Turn] | None = None
    unreadable: str = ""
    preview: str | None = None


class TrajectoryPage(Answer):
    trajectories: list[Trajectory]
    next: str | None


class RejectedLine(Answer):
    line: int
    seq: int | None
    reason: str


class Received(Answer):
    """What became of lines of metrics."""

    accepted: int
    duplicates: int
    rejected: list[RejectedLine]
    rejected_count: int
    next_seq: int


class Preset(Answer):
    key: str
    title: str
    description: str


class Entry(Answer):
    """A row of a leaderboard. `values` has value, low and high of the 95% interval by column; None is unknown."""

    evaluation: int
    name: str
    rank: int | None
    ranks: tuple[int, int] | None = None
    ties: str = ""
    training_seeds: list[int | None] = Field(default_factory=list)
    difference: float | None = None
    p: float | None = None
    values: dict[str, tuple[float | None, float | None, float | None] | None] = Field(default_factory=dict)


class Pair(Answer):
    """`first - other`; `not_comparable` says why they are not compared."""

    not_comparable: list[str]
    difference: float
    low: float
    high: float
    p: float
    shared: int
    more_by_first: list[dict[str, Any]]
    more_by_other: list[dict[str, Any]]
