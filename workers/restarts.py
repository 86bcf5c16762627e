"""Whether a run goes on by itself after a fault: as often as its budget allows, and not round and round.

A fault is an end that a fresh start from the newest checkpoint can mend. Each is kept in the run's row, whatever
follows it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypedDict

from django.utils import timezone

from webapp.runs.models import Run
from webapp.runs.states import RunState
from workers.endings import Ending

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
    """How the run goes on, or ends for good, after a retryable `ending`; and the fields to be written with its state.

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
        "restart_at": timezone.now() + timedelta(seconds=pause),
        "wait_reason": f"Starts again {pause:g} s after the fault: restart {fault['restart']} of {fault['budget']}",
    }


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
        return "By checkpoint.restarts it does not go on by itself."
    if run.restarts >= fault["budget"]:
        times = "once" if run.restarts == 1 else f"{run.restarts} times"
        return f"It had gone on by itself {times}, as often as checkpoint.restarts allows."
    if fault["fruitless"] >= FRUITLESS_IN_A_ROW:
        return f"{FRUITLESS_IN_A_ROW} restarts in a row completed no step, so it is not started again by itself."
    return ""


def _with_refusal(ending: Ending, refusal: str) -> Ending:
    """After the reason and before the log, if that follows."""
    reason, line_end, log = ending.reason.partition("\n")
    return replace(ending, reason=f"{reason} {refusal}{line_end}{log}")


def _kept(faults: list[Fault]) -> list[Fault]:
    return faults[-MOST_FAULTS:]
