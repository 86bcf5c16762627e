"""What a run's checkpoints achieved on held-out problems, from the run's events. No torch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from engine.event_lines import parse_event
from engine.events import (
    CheckpointEvaluated,
    EvaluationCompleted,
    Event,
    EventBase,
    HeldOutResult,
    RunStarted,
)

READ = tuple(f'"kind":"{kind}"'.encode() for kind in ("run_started", "evaluation_completed", "checkpoint_evaluated"))

Results = dict[int, list[HeldOutResult]]  # by step, one for each environment


def held_out_results(events: Path) -> Results:
    """Of each evaluated step; empty without a record. Of several evaluations of one step the one with the most episodes
    counts, the newest of equals."""
    return counted(_read(events))


def counted(events: Iterable[EventBase]) -> Results:
    best: dict[int, dict[str, HeldOutResult]] = defaultdict(dict)
    for event in events:
        if isinstance(event, RunStarted) and event.attempt > 1:  # it makes the steps after its checkpoint again
            last = event.resumed_from if event.resumed_from is not None else -1
            for step in [step for step in best if step > last]:
                del best[step]
        elif isinstance(event, EvaluationCompleted | CheckpointEvaluated):
            known = best[event.step].get(event.environment)
            if known is None or event.episodes >= known.episodes:
                best[event.step][event.environment] = event
    return {step: list(by_environment.values()) for step, by_environment in best.items()}


def _read(path: Path) -> Iterable[Event]:
    """Damaged lines are passed over, as other readers do."""
    if not path.is_file():
        return
    with path.open("rb") as lines:
        for line in lines:
            if any(kind in line for kind in READ):
                try:
                    yield parse_event(line)
                except ValueError:
                    continue
