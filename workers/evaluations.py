"""Evaluations of a run's checkpoint that users request."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path

from engine.event_lines import newest_seq
from webapp.evaluations.models import EvaluationRequest
from webapp.evaluations.requests import checkpoint_at
from webapp.runs.models import Run
from workers.bridge import Bridge, newest_attempt
from workers.control import write_json
from workers.held_jobs import POLL_SECONDS, CannotStart, HeldJob, Outcome, a_run_needs_the_gpu
from workers.lease import Fenced

MOST_SECONDS = 7200.0  # a run that trains takes the results between two of its steps
ROWS_SECONDS = 30.0


class HeldEvaluation(HeldJob[EvaluationRequest]):
    """The engine adds the results to the run's events; the job ends when they are rows."""

    model = EvaluationRequest
    played = "evaluated"
    again = "Evaluate again."

    def seconds(self) -> float:
        return MOST_SECONDS

    def timed_out(self) -> Outcome:
        return self.failed(f"It took longer than {MOST_SECONDS / 3600:g} h.", "Lower evaluation.final_episodes.")

    def prepare(self) -> list[str]:
        checkpoint = checkpoint_at(self.job.run, self.job.step)
        if checkpoint is None:
            raise CannotStart(
                f"The checkpoint of step {self.job.step} was removed before it could be evaluated.",
                "Raise checkpoint.keep to keep more of them.",
            )
        directory = self.job.folder.resolve()
        return ["evaluate", str(directory), "--model", str(directory / checkpoint.path), "--record"]

    def variables(self) -> dict[str, str]:
        self._newest_in_rows.unlink(missing_ok=True)
        self.look()
        newest = {"STARBOARD_NEWEST_IN_ROWS": str(self._newest_in_rows.resolve())}
        return newest | ({"CUDA_VISIBLE_DEVICES": ""} if a_run_needs_the_gpu() else {})

    def look(self) -> None:
        """Numbers of events that were in a file which was cut or deleted are not given again. The run may go on while
        the evaluation is played, so the engine removes the file before it adds its results, and waits for a new one."""
        if self._newest_in_rows.exists():
            return
        run = Run.objects.get(pk=self.job.run_id)
        newest = {"seq": run.last_seq, "attempt": newest_attempt(run), "epoch": run.epoch}
        with suppress(OSError):  # the disk is full: next time
            write_json(self._newest_in_rows, newest)

    @property
    def _newest_in_rows(self) -> Path:
        return self.job.log.with_suffix(".rows.json")

    def _play(self, shutdown: threading.Event) -> Outcome:
        try:
            return super()._play(shutdown)
        finally:
            self._newest_in_rows.unlink(missing_ok=True)

    def outcome(self, exit_status: int) -> Outcome:
        if exit_status == 0:
            _write_rows(self.job.run, self.shutdown)
        return super().outcome(exit_status)


def _write_rows(run: Run, shutdown: threading.Event) -> None:
    """Returns when the events so far are rows. The supervisor of a live run writes them, otherwise this process. At
    shutdown they are left to the next supervisor."""
    written = newest_seq(run.directory / "events.jsonl")
    until = time.monotonic() + ROWS_SECONDS
    while time.monotonic() < until:
        run.refresh_from_db()
        if not run.is_supervised:
            with suppress(Fenced):  # else a supervisor has just taken the run, and writes them
                Bridge(run, run.epoch).drain(moves=False)
                return
        if run.last_seq >= written or shutdown.wait(POLL_SECONDS):
            return
