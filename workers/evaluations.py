"""Evaluations of a run's checkpoint that users request."""

from __future__ import annotations

import time

from webapp.evaluations.models import EvaluationRequest
from webapp.evaluations.requests import checkpoint_at
from webapp.runs.models import Run
from workers.bridge import Bridge
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
        return {"CUDA_VISIBLE_DEVICES": ""} if a_run_needs_the_gpu() else {}

    def outcome(self, exit_status: int) -> Outcome:
        if exit_status == 0:
            _write_rows(self.job.run)
        return super().outcome(exit_status)


def _write_rows(run: Run) -> None:
    """Returns when the events so far are rows. The supervisor of a live run writes them, otherwise this process."""
    written = (run.directory / "events.jsonl").stat().st_size
    until = time.monotonic() + ROWS_SECONDS
    while time.monotonic() < until:
        run.refresh_from_db()
        if run.event_offset >= written:
            return
        if not run.is_supervised:
            try:
                Bridge(run, run.epoch).drain(moves=False)
            except Fenced:
                continue  # a supervisor has just taken the run, and writes them
        time.sleep(POLL_SECONDS)
