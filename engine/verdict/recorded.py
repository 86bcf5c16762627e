"""The events of a run directory that count, and the assessor after them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from engine.errors import RunDirectoryError
from engine.event_lines import parse_event
from engine.events import (
    AlertRaised,
    EvaluationCompleted,
    Event,
    RunFinished,
    RunStarted,
    StepCompleted,
    VerdictUpdated,
)
from engine.verdict.assessor import Assessor, Settings
from engine.verdict.types import Verdict

BEFORE_ALL_STEPS = -1
KINDS = ("run_started", "step_completed", "evaluation_completed", "alert_raised", "run_finished")
READ = tuple(f'"kind":"{kind}"'.encode() for kind in KINDS)
RECORDED = b'"kind":"verdict_updated"'


def counted(events: Iterable[Event], settings: Settings) -> list[Event]:
    """Steps, evaluations, alerts and the end in order, without those that a resumed attempt made again.

    Steps have only the metrics that are assessed: a run of ten thousand steps fits in memory.
    """
    kept: list[Event] = []
    for event in events:
        match event:
            case RunStarted() if event.attempt > 1:
                last = BEFORE_ALL_STEPS if event.resumed_from is None else event.resumed_from
                kept = [one for one in kept if one.step <= last and not _is_final(one)]
            case StepCompleted():
                picked = {name: value for name, value in event.metrics.items() if settings.reads(name)}
                kept.append(event.model_copy(update={"metrics": picked}))
            case EvaluationCompleted() | AlertRaised() | RunFinished():
                kept.append(event)
            case _:
                pass
    return kept


def _is_final(event: Event) -> bool:
    """Whether the event is of the end of an attempt."""
    return isinstance(event, RunFinished) or (isinstance(event, EvaluationCompleted) and event.final)


def assessor_after(events: Path, settings: Settings) -> Assessor:
    """An assessor that knows all of `events.jsonl`. Damaged lines are passed over, as other readers do."""
    assessor = Assessor(settings)
    for event in counted(_read(events, READ), settings):
        assessor.observe(event)
    return assessor


def recorded_verdict(events: Path) -> Verdict | None:
    """The newest verdict that the run itself recorded."""
    newest = None
    for event in _read(events, (RECORDED,)):
        if isinstance(event, VerdictUpdated):
            newest = event.verdict
    return newest


def _read(path: Path, kinds: tuple[bytes, ...]) -> Iterable[Event]:
    try:
        with path.open("rb") as lines:
            for line in lines:
                if any(kind in line for kind in kinds) and (event := _parsed(line)) is not None:
                    yield event
    except FileNotFoundError:
        raise RunDirectoryError(f"There is no {path}.", remedy="Give the directory of a run.") from None


def _parsed(line: bytes) -> Event | None:
    try:
        return parse_event(line)
    except ValueError:
        return None
