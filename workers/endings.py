"""How a run ended, and why, from its last event, its exit status and the requests of users."""

from __future__ import annotations

import signal
from dataclasses import dataclass, replace
from typing import Any

from engine.errors import NoGoodCheckpoint
from engine.events import RunFailed, RunFinished
from webapp.runs.states import EndCause, RunState
from workers.gpus import Gpus
from workers.memory_killer import OUT_OF_MEMORY
from workers.process import Sweep

USAGE_EXIT = 2
INTERRUPTED_EXIT = 3  # SIGTERM or SIGINT came, and the engine wrote a checkpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    state: RunState
    reason: str
    remedy: str = ""
    retryable: bool = False  # a restart from the newest checkpoint may succeed
    cause: EndCause | None = None  # by default the usual one of its state
    fork_before: int | None = None  # a rule requests a fork from the last checkpoint before this step


def ending_of(
    last: RunFinished | RunFailed | None,
    exit_status: int | None,
    *,
    begun: bool,
    stop_requested: bool,
    interrupted: bool,
    log: str,
    preempted: str = "",
    pruned: str = "",
    killer: str = "",
) -> Ending:
    """From the attempt's last event, if it reported its end, and the exit status as of `Popen` (None: unknown).

    `begun`: it had reported its start. `interrupted`: the machine ended the engine (Starboard was shut down, or the
    machine restarted). No user ended the run then, so it is queued again. `preempted` and `pruned`: why Starboard asked
    it to end, if it did. `killer`: who sent it SIGKILL, as far as is known.
    """
    if last is not None and not (interrupted and isinstance(last, RunFailed) and last.retryable):
        ending = _as_reported(last)
        return replace(ending, reason=pruned) if pruned and ending.state == RunState.STOPPED else ending
    if stop_requested:
        return Ending(
            state=RunState.STOPPED,
            reason=f"Stopped by force: the engine did not end by itself and {describe_exit(exit_status)}.",
            remedy="Resuming continues from the newest checkpoint; later steps are lost.",
        )
    if interrupted:
        why = preempted or "Interrupted with its machine."
        return Ending(state=RunState.QUEUED, reason=f"{why} It continues from its newest checkpoint.")
    if exit_status == USAGE_EXIT:
        return Ending(
            state=RunState.FAILED,
            reason=f"The engine refused to start:\n{log}",
            remedy="Fix the fields it names and launch a clone.",
            cause=EndCause.REFUSED,
        )
    return _without_a_report(exit_status, log, killer=killer, retryable=begun or _was_killed(exit_status))


def _was_killed(exit_status: int | None) -> bool:
    """Ended from outside, as far as is known. An engine that exits by itself before it has started would do so
    again."""
    return exit_status is None or exit_status < 0 or exit_status == INTERRUPTED_EXIT


def _as_reported(event: RunFinished | RunFailed) -> Ending:
    match event:
        case RunFailed():
            return Ending(
                state=RunState.FAILED,
                reason=f"{event.error}: {event.message}",
                remedy=event.remedy,
                retryable=event.retryable,
                cause=cause_of(event),
            )
        case RunFinished():
            state = RunState.STOPPED if event.outcome == "stopped" else RunState.FINISHED
            return Ending(state=state, reason=event.reason, cause=cause_of(event), fork_before=event.fork_before)


def cause_of(event: RunFinished | RunFailed) -> EndCause | None:
    """None if it is the usual one of the state that the event leads to."""
    match event:
        case RunFailed() if event.error == NoGoodCheckpoint.__name__:
            return EndCause.NO_GOOD_CHECKPOINT
        case RunFinished() if event.rule:
            return EndCause.RULE
        case _:
            return None


def _without_a_report(exit_status: int | None, log: str, *, killer: str, retryable: bool) -> Ending:
    reason = f"The engine ended without reporting why: it {describe_exit(exit_status)}."
    remedy = "Read the end of its log, then resume from the newest checkpoint."
    if killer:
        reason += f" {killer}"
    if OUT_OF_MEMORY in killer:
        remedy = "Lower rollout.groups or optimizer.micro_batch_tokens, or free memory, and resume."
    if log:
        reason += f"\nThe end of its log:\n{log}"
    return Ending(state=RunState.CRASHED, reason=reason, remedy=remedy, retryable=retryable)


def describe_exit(exit_status: int | None) -> str:
    if exit_status is None:
        return "is gone, with an unknown exit status"
    if exit_status < 0:
        return f"was killed by signal {-exit_status} ({_signal_name(-exit_status)})"
    return f"exited with code {exit_status}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def proof_of(
    sweep: Sweep, *, how: str, exit_status: int | None, time: float, gpus: Gpus | None = None, cluster: str = ""
) -> dict[str, Any]:
    """The row's `stop_proof`: when no process with the cookie was left, how it ended, and what GPUs still hold.
    `cluster` is the cluster's own report on the run's actors."""
    return {
        "time": time,
        "how": how,
        "exit": describe_exit(exit_status),
        "swept": sweep.killed,
        "left": sweep.left,
        "proven": not sweep.left and not sweep.unwatched and (gpus is None or gpus["free"]),
        "cluster": cluster,
        **({"gpus": gpus["description"]} if gpus else {}),
    }
