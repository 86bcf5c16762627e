"""The events of a run, the same in its file, the database, the REST API and the browser.

Every event is one line of `events.jsonl`. `seq` counts up by one over the whole life of a run directory,
across attempts; `time` is seconds since the epoch; `step` is the training step it belongs to, 0 before the first.
Whoever emits an event fills in its `step` and its own fields, and the log stamps the rest (`stamped`). Readers `match`
on the class.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from engine.verdict.types import ComparedWith, Severity, Verdict

Phase = Literal["loading", "rollout", "diagnostics", "update", "evaluation", "checkpoint", "paused"]
Outcome = Literal["completed", "stopped", "converged", "collapsed"]
Split = Literal["train", "validation"]
CheckpointReason = Literal["schedule", "request", "final", "alert"]


LARGEST_STEP, LARGEST_COUNT = 2**31 - 1, 2**63 - 1
LAST_SECOND = 253_402_300_799  # of the year 9999
Count = Annotated[int, Field(ge=0, le=LARGEST_COUNT)]
Index = Annotated[int, Field(ge=0, le=LARGEST_STEP)]
RelativePath = Annotated[str, Field(max_length=200)]  # relative to the run directory


class EventBase(BaseModel):
    """An event has no number, time, attempt and epoch until a log has recorded it.

    Numbers are finite, and integers fit the columns of a database. Fields that a newer version has added are kept.
    """

    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False)

    seq: int = Field(default=0, ge=0, le=LARGEST_COUNT)
    time: float = Field(default=0.0, ge=0, le=LAST_SECOND)
    attempt: int = Field(default=0, ge=0, le=LARGEST_STEP)
    epoch: int = Field(default=0, ge=0, le=LARGEST_STEP)
    step: int = Field(ge=0, le=LARGEST_STEP)

    def stamped(self, *, seq: int, time: float, attempt: int, epoch: int) -> Self:
        """The event as recorded. A copy without validation: the event's own fields have been checked."""
        return self.model_copy(update={"seq": seq, "time": time, "attempt": attempt, "epoch": epoch})


class RunStarted(EventBase):
    """An attempt began. Steps above `resumed_from` that an earlier attempt reported no longer count."""

    kind: Literal["run_started"] = "run_started"
    total_steps: Index
    resumed_from: Index | None = None
    start: str = ""  # of a fork: what it starts from
    pid: int
    device: str
    model: str
    parameters: int
    trainable_parameters: int | None = None  # fewer than `parameters` with an adapter
    versions: dict[str, str] = Field(default_factory=dict)


class PhaseChanged(EventBase):
    kind: Literal["phase_changed"] = "phase_changed"
    phase: Phase
    detail: str = ""


class StepCompleted(EventBase):
    """One training step; `metrics` has finite floats only, by the names of `engine.metrics`."""

    kind: Literal["step_completed"] = "step_completed"
    metrics: dict[str, float]
    tokens: Count  # tokens sampled since the run began
    seconds: float  # training time since the run began, pauses left out, earlier attempts counted
    skipped: str = ""  # why no update was made, if none was


class GroupsFiltered(EventBase):
    """Every group that a step sampled and the filter's decision, whichever trajectories are recorded.

    Groups are in order of their number; `environments` are indices into `tags`, `kept` indices of groups. A member
    without an outcome has no return, and a group that nothing can be learned from has no score. Numbers are float32 in
    as few digits as identify them, so a step of P groups of G members takes about `40 P + 5 P G` bytes, twice that
    if returns have many digits: 1.3 kB for 16 x 8. After 8,192 returns, further groups have an empty list.
    """

    kind: Literal["groups_filtered"] = "groups_filtered"
    tags: list[str]
    groups: list[int]
    environments: list[int]
    seeds: list[int]
    returns: list[list[float | None]]
    stds: list[float | None]  # unbiased standard deviations of returns
    scores: list[float | None]  # what the filter ranks by
    kept: list[int]
    threshold: float  # score of the last group kept; 0 when none was
    filter: dict[str, bool | float | str] = Field(default_factory=dict)  # settings at this step


class TrajectoriesRecorded(EventBase):
    kind: Literal["trajectories_recorded"] = "trajectories_recorded"
    split: Split
    path: RelativePath
    count: Count
    dropped: Count = 0  # of the step, beyond the capture budget
    reasons: dict[str, int] = Field(default_factory=dict)  # number of recorded trajectories by reason


class TrajectoriesRemoved(EventBase):
    """The retention of the run removed its oldest trajectory files."""

    kind: Literal["trajectories_removed"] = "trajectories_removed"
    paths: list[RelativePath]
    bytes: int


class Change(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    old: Any
    new: Any


class HeldOutResult(EventBase):
    """Held-out episodes of one environment; `low` and `high` are their 95% Wilson interval."""

    environment: str  # the tag in the config
    episodes: Index
    successes: Index
    success: float
    low: float
    high: float
    mean_return: float
    first_seed: Count
    temperature: float
    seconds: float
    faults: Index = 0  # episodes without an outcome (environment failure, no room); not in `episodes`
    problems: Index = 0  # distinct ones among the episodes; 0 if it is not known
    trained_on: Index = 0  # episodes whose problem the run has trained on


class EvaluationCompleted(HeldOutResult):
    """An evaluation of the trainer's own, after its step."""

    kind: Literal["evaluation_completed"] = "evaluation_completed"
    final: bool = False


class CheckpointEvaluated(HeldOutResult):
    """A requested evaluation of the checkpoint of `step`, recorded when it ended: perhaps many steps later. The verdict
    and the alert rules read only `EvaluationCompleted`, whose schedule does not depend on what users request."""

    kind: Literal["checkpoint_evaluated"] = "checkpoint_evaluated"


class ProblemsPlayed(EventBase):
    """Which problems the episodes of an evaluation had and which were solved, so that evaluations can be compared on
    the problems that both played. It follows its `evaluation_completed` or `checkpoint_evaluated` and takes 20 bytes an
    episode.

    `problems` are hashes of 16 hexadecimal digits, one for each episode with an outcome; `solved` has as many digits, 1
    for a success.
    """

    kind: Literal["problems_played"] = "problems_played"
    environment: str  # the tag in the config
    problems: list[Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]]
    solved: Annotated[str, Field(pattern=r"^[01]*$")]
    final: bool = False
    requested: bool = False  # of a `checkpoint_evaluated`

    @model_validator(mode="after")
    def _one_outcome_for_each(self) -> Self:
        if len(self.problems) != len(self.solved):
            raise ValueError(f"{len(self.problems)} problems and {len(self.solved)} outcomes: give one for each.")
        return self


class CheckpointSaved(EventBase):
    kind: Literal["checkpoint_saved"] = "checkpoint_saved"
    path: RelativePath
    bytes: Count
    reason: CheckpointReason
    kept: list[int] = Field(default_factory=list)  # steps of all that are on disk now; empty if it is not known
    best: int | None = None  # of them the one with the highest held-out success; None before the first evaluation


class SettingsChanged(EventBase):
    """Settings that apply from the next step, or a change that was refused, with the reason."""

    kind: Literal["settings_changed"] = "settings_changed"
    revision: int
    changes: dict[str, Change]  # by dotted field of the configuration
    refused: str = ""


class AlertRaised(EventBase):
    kind: Literal["alert_raised"] = "alert_raised"
    rule: str = Field(max_length=60)
    severity: Severity
    message: str
    metric: str
    value: float
    baseline: float | None = None
    compared_with: ComparedWith = "limit"  # what `baseline` is
    limit: float | None = None  # on the metric's own axis; None for a rule that has none
    since: Index | None = None  # the first step of the breach
    fork_before: Index | None = None  # the first step of any sign that was open with it: earlier checkpoints are good
    action: Literal["notify", "checkpoint", "pause", "stop", "fork"] = "notify"


class VerdictUpdated(EventBase):
    """The verdict on the run so far, whenever it or a number behind it has changed (`engine.verdict`)."""

    kind: Literal["verdict_updated"] = "verdict_updated"
    verdict: Verdict


class ClusterReleased(EventBase):
    """An attempt on a cluster has ended its actors. `proven`: the cluster confirms that it holds nothing of the run."""

    kind: Literal["cluster_released"] = "cluster_released"
    message: str  # the cluster's state of the actors
    proven: bool


class RunFinished(EventBase):
    """`rule`: the alert rule that ended it. `fork_before`: it requests a fork from the last checkpoint before this
    step."""

    kind: Literal["run_finished"] = "run_finished"
    outcome: Outcome
    reason: str
    rule: str = ""
    fork_before: Index | None = None


class RunFailed(EventBase):
    kind: Literal["run_failed"] = "run_failed"
    error: str  # the exception's type
    message: str
    remedy: str = ""
    traceback: str = ""
    retryable: bool = False  # a restart from the newest checkpoint may succeed


Event = Annotated[
    RunStarted
    | PhaseChanged
    | StepCompleted
    | GroupsFiltered
    | TrajectoriesRecorded
    | TrajectoriesRemoved
    | EvaluationCompleted
    | CheckpointEvaluated
    | ProblemsPlayed
    | CheckpointSaved
    | SettingsChanged
    | AlertRaised
    | VerdictUpdated
    | ClusterReleased
    | RunFinished
    | RunFailed,
    Field(discriminator="kind"),
]


def _recorded(event: EventBase) -> EventBase:
    if event.seq < 1 or event.attempt < 1:
        raise ValueError("a recorded event has a seq and an attempt of 1 or more")
    return event


EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, AfterValidator(_recorded)])
MACHINES = "cluster"  # the rule of alerts about machines, which remain when their step is repeated


def parse_payload(payload: dict[str, Any]) -> Event:
    """An event from its JSON object."""
    return EVENT.validate_python(payload)


def kind_of(event: type[EventBase]) -> str:
    """The `kind` that names a class of events in files, rows and messages."""
    return str(event.model_fields["kind"].default)
