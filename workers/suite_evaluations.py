"""Evaluations on suites: a model plays a suite's problems, and goes on where an earlier session ended.

Unlike most jobs, one whose worker is gone is queued again: no finished episode is played twice.
"""

from __future__ import annotations

import json
import time
from typing import Any

from engine.errors import StarboardError
from engine.suites.outcomes import read_outcomes
from engine.suites.store import ABOUT, PROGRESS
from engine.suites.weights import weights_of
from webapp.jobs import JobState
from webapp.leaderboard.entries import add_new_entries
from webapp.suites.models import PolicyKind, SuiteEvaluation
from webapp.suites.results import save_outcomes, save_progress
from webapp.suites.services import AlreadyEvaluated, same_inputs
from workers.control import write_json
from workers.held_jobs import OUTAGES, CannotStart, HeldJob, Outcome, a_run_needs_the_gpu

MOST_SECONDS = 14 * 24 * 3600.0
LOOK_SECONDS = 1.0
GRACE_SECONDS = 15.0
LARGEST_PROGRESS = 8 << 20
REPAIR = "Remove the damaged file, and resume it."
MOST_LOSSES = 3  # of workers in a row, without a new episode


class HeldSuiteEvaluation(HeldJob[SuiteEvaluation]):
    """The engine stores episodes in the evaluation's folder; this worker turns its reports into rows."""

    model = SuiteEvaluation
    again = "Resume it."
    look_seconds = LOOK_SECONDS
    grace_seconds = GRACE_SECONDS

    def __init__(self, job: SuiteEvaluation) -> None:
        super().__init__(job)
        self.reported = 0  # when the last report that was read was written
        self.seconds_before = job.seconds
        self.began = time.monotonic()

    def seconds(self) -> float:
        return MOST_SECONDS

    def timed_out(self) -> Outcome:
        return self.failed(f"It took longer than {MOST_SECONDS / 86400:g} days.", self.again)

    def prepare(self) -> list[str]:
        job, folder = self.job, self.job.folder.resolve()
        self._identify()
        SuiteEvaluation.objects.filter(pk=job.pk).update(message="")  # of how an earlier session ended
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "suite.json", job.suite().model_dump(mode="json"))
        source = ["--endpoint", job.endpoint] if job.policy == PolicyKind.ENDPOINT else []
        key = ["--key-env", job.key_variable] if job.key_variable else []
        return [
            "evaluate", "--suite", str(folder / "suite.json"), f"--model={job.model}", *source, *key,
            "--out", str(folder),
        ]  # fmt: skip

    def variables(self) -> dict[str, str]:
        return {"CUDA_VISIBLE_DEVICES": ""} if a_run_needs_the_gpu() else {}

    def look(self) -> None:
        """The numbers so far, if there are new ones."""
        path = self.job.folder / PROGRESS
        try:
            status = path.stat(follow_symlinks=False)
            if status.st_mtime_ns == self.reported or status.st_size > LARGEST_PROGRESS:
                return
            report = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return
        self.reported = status.st_mtime_ns
        if self.job.losses and report["played"] > self.job.played:
            self.job.losses = 0
            SuiteEvaluation.objects.filter(pk=self.job.pk).update(losses=0)
        save_progress(self.job, report, seconds=self.seconds_before + time.monotonic() - self.began)

    def lost(self, message: str) -> Outcome:
        """Another worker continues, unless they go away again and again before an episode is over."""
        self.job.refresh_from_db(fields=["stop_requested", "losses"])
        if self.job.stop_requested:
            return {"state": JobState.STOPPED, "message": "Stopped on request."}
        losses = self.job.losses + 1
        if losses >= MOST_LOSSES:
            why = f"{message} That happened {losses} times in a row, without a new episode."
            return {**self.failed(why, self.again), "losses": losses}
        return {"state": JobState.QUEUED, "message": f"{message} Another one continues.", "losses": losses}

    def _identify(self) -> None:
        """The hash of a model that took too long for the form; refused if it has been evaluated meanwhile."""
        job = self.job
        if job.weights or job.policy == PolicyKind.ENDPOINT:
            return
        try:
            job.weights = weights_of(job.model)
        except StarboardError as error:
            raise CannotStart(error.message, error.remedy) from None
        earlier = same_inputs(job.key, job.weights, job.project, but=job.pk)
        if earlier is not None and (earlier.is_live or not job.again):
            raise CannotStart(str(AlreadyEvaluated(earlier)), "")
        SuiteEvaluation.objects.filter(pk=job.pk).update(weights=job.weights)

    def _end(self, outcome: Outcome) -> None:
        """With all outcomes that are stored, however it ended; the leaderboard lists it if it finished."""
        try:
            self._save()
        except OUTAGES:
            raise
        except Exception as error:  # of whatever kind: a job that does not end keeps its lane
            outcome = self.failed(f"Its outcomes in {self.job.folder} cannot be read: {error}", REPAIR)
        super()._end(outcome)
        add_new_entries()

    def _save(self) -> None:
        outcomes = read_outcomes(self.job.folder)
        if outcomes:
            save_outcomes(self.job, outcomes)
        versions = self._about().get("versions", {})
        SuiteEvaluation.objects.filter(pk=self.job.pk).update(versions=versions)

    def _about(self) -> dict[str, Any]:
        try:
            found = json.loads((self.job.folder / ABOUT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}
