"""Whether a run restarts by itself after a failure: as often as its budget allows, after a pause, and not in a loop.

A retryable failure is one that a restart from the newest checkpoint may survive. Each is recorded in the run's row.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypedDict

from webapp.runs.models import Run
from webapp.runs.states import RunState
from workers.endings import Ending
from workers.sightings import restarts

FRUITLESS_IN_A_ROW = 2
LONGEST_REASON = 400
MOST_FAULTS = 100


class Fault(TypedDict):
    """One of a run's `faults`."""

    time: float
    attempt: int
    step: int  # the newest that was completed
    reason: str
    restart: int  # which restart followed; 0: none
    budget: int
    fruitless: int  # restarts in a row, with the one that ended now, that completed no step and saved no checkpoint


def after_fault(
    run: Run, ending: Ending, *, progressed: bool, pauses: Sequence[float]
) -> tuple[Ending, dict[str, Any]]:
    """Whether the run restarts or ends, after a retryable `ending`, and the fields to write with its state.

    `progressed`: the attempt completed a step or saved a checkpoint. `pauses` are seconds before each restart.
    """
    fault = _fault(run, ending, progressed=progressed)
    if refusal := _refusal(run, fault):
        fault["restart"] = 0
        return _with_refusal(ending, refusal), {"faults": _kept([*run.faults, fault])}
    pause = pauses[min(fault["restart"], len(pauses)) - 1]
    again = replace(ending, state=RunState.QUEUED, reason=fault["reason"], remedy="")
    return again, {
        "faults": _kept([*run.faults, fault]),
        "restarts": fault["restart"],
        "restart_pause": pause,
        "wait_reason": f"Restarts {pause:g} s after the failure: restart {fault['restart']} of {fault['budget']}",
    }


def end_pauses() -> None:
    """Of the runs that this worker has seen waiting for as long as their pause is."""
    waiting = Run.objects.filter(state=RunState.QUEUED, restart_pause__gt=0)
    for pk, attempt, pause in waiting.values_list("pk", "attempt", "restart_pause"):
        if pause and restarts.see(pk, attempt, pause):
            waiting.filter(pk=pk, attempt=attempt).update(restart_pause=0)


def _fault(run: Run, ending: Ending, *, progressed: bool) -> Fault:
    """As if a restart followed."""
    last: Fault | None = run.faults[-1] if run.faults else None
    restarted = last is not None and last["restart"] > 0 and last["attempt"] == run.attempt - 1
    return {
        "time": time.time(),
        "attempt": run.attempt,
        "step": run.step,
        "reason": ending.reason.partition("\n")[0][:LONGEST_REASON],
        "restart": run.restarts + 1,
        "budget": run.restart_budget,
        "fruitless": last["fruitless"] + 1 if last is not None and restarted and not progressed else 0,
    }


def _refusal(run: Run, fault: Fault) -> str:
    if not fault["budget"]:
        return "checkpoint.restarts allows no automatic restart."
    if run.restarts >= fault["budget"]:
        times = "once" if run.restarts == 1 else f"{run.restarts} times"
        return f"It was restarted {times}, the limit set by checkpoint.restarts."
    if fault["fruitless"] >= FRUITLESS_IN_A_ROW:
        return f"{FRUITLESS_IN_A_ROW} restarts in a row completed no step, so there is no further automatic restart."
    return ""


def _with_refusal(ending: Ending, refusal: str) -> Ending:
    """Inserted after the reason, before the log."""
    reason, line_end, log = ending.reason.partition("\n")
    return replace(ending, reason=f"{reason} {refusal}{line_end}{log}")


def _kept(faults: list[Fault]) -> list[Fault]:
    return faults[-MOST_FAULTS:]
