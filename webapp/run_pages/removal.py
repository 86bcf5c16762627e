"""Deletes runs: their rows and their directory. Refused while something still needs them."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from engine.forking import copies_of
from webapp.audit.services import Actor, record_of, who
from webapp.broker import send_task
from webapp.evaluations.models import EvaluationRequest
from webapp.jobs import LIVE
from webapp.projects.access import can
from webapp.projects.models import Role
from webapp.runs.disk import disk_bytes
from webapp.runs.models import DeletedRun, Run, RunEvent, StepGroups, StepMetrics, SupersededStep
from webapp.runs.quotas import keep_usage
from webapp.runs.states import TERMINAL
from webapp.suites.models import SuiteEvaluation
from webapp.trajectories.models import LostTrajectory, Trajectory, TrajectoryText
from webapp.updates import publish_run
from webapp.whatif.models import WhatIf
from workers.app import HOUSEKEEP

log = logging.getLogger(__name__)

DOOMED = ".deleted-"  # how directories that are being removed begin
LARGE = 1 << 30  # bytes, which take longer than a request should


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What deleting a run would free on disk, and why it cannot be deleted: empty if it can. Bytes of `shared` stay,
    since other runs have links to the same files; `record` is what is neither trajectories nor checkpoints."""

    run: Run
    freed: int
    shared: int
    refusal: str
    trajectories: int
    checkpoints: int
    forks: int  # that lose the link to their origin, and keep what they start from
    evaluations: int  # on suites, which keep their results

    @property
    def record(self) -> int:
        return self.freed - self.trajectories - self.checkpoints


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """Of one run. `problem` says what is left where not everything could be removed."""

    done: bool
    freed: int = 0
    problem: str = ""


def removals(runs: Iterable[Run]) -> list[Removal]:
    """One for each of `runs`, as if all of them were deleted together."""
    chosen = list(runs)
    needed = _needed_by_forks({run.pk for run in chosen})
    found: list[Removal] = []
    for run in chosen:
        freed, shared = disk_bytes(run.directory)
        found.append(
            Removal(
                run=run,
                freed=freed,
                shared=shared,
                refusal=_refusal(run, needed.get(run.pk, [])),
                trajectories=disk_bytes(run.directory / "trajectories")[0],
                checkpoints=disk_bytes(run.directory / "checkpoints")[0],
                forks=Run.objects.filter(forked_from=run).exclude(pk__in=[one.pk for one in chosen]).count(),
                evaluations=SuiteEvaluation.objects.filter(run=run).count(),
            )
        )
    return found


def delete(run: Run, user: Actor) -> Deletion:
    """Deletes the run, which `removals` does not refuse. Its rows go first: no page shows a run without files. A large
    directory is removed by a worker, and whatever a crash leaves by `sweep`."""
    freed, _ = disk_bytes(run.directory)
    with transaction.atomic():
        # whoever resumes the run from now on waits, and then finds none
        if not Run.objects.filter(pk=run.pk, state__in=TERMINAL).update(archived_at=timezone.now()):
            return Deletion(done=False, problem=f"{run.name} is live again, so it was not deleted.")
        keep_usage(run)
        for rows in (TrajectoryText, Trajectory, LostTrajectory, StepMetrics, SupersededStep, StepGroups, RunEvent):
            rows._base_manager.filter(run_id=run.pk).delete()  # these by themselves, without loading them
        deleted = {"name": run.name, "project": run.project, "who": who(user), "freed": freed}
        DeletedRun.objects.update_or_create(pk=run.pk, defaults=deleted)
        record_of(run, user, "remove")  # in the log of the project: that of the run goes with it
        Run.objects.filter(pk=run.pk).delete()
        transaction.on_commit(lambda: publish_run(run.pk, 0))
    try:
        doomed = _set_aside(Path(settings.RUNS_DIR), run.pk)
        if doomed is not None and not (freed >= LARGE and send_task(HOUSEKEEP, otherwise=f"{doomed} stays for now")):
            shutil.rmtree(doomed)
    except OSError as error:
        reason = error.strerror or str(error)
        log.warning("The directory of the deleted run %s remains: %s", run.pk, reason)
        return Deletion(done=True, problem=f"The directory {run.directory} could not be removed: {reason}.")
    return Deletion(done=True, freed=freed)


def _refusal(run: Run, forks: Sequence[Run]) -> str:
    if run.state not in TERMINAL:
        return f"It is {run.get_state_display().lower()}. Stop it first."
    if forks:
        names = ", ".join(_named(fork) for fork in forks[:3]) + (
            f" and {len(forks) - 3} more" if len(forks) > 3 else ""
        )
        return f"{names} {'starts' if len(forks) == 1 else 'start'} from a checkpoint that is only here."
    if WhatIf.objects.filter(run=run, state__in=LIVE).exists():
        return "A what-if of one of its trajectories is in progress. Stop it first."
    if _is_evaluated(run):
        return "An evaluation of one of its checkpoints is queued or in progress. Stop it first."
    return ""


def _is_evaluated(run: Run) -> bool:
    requested = EvaluationRequest.objects.filter(run=run, state__in=LIVE)
    return requested.exists() or SuiteEvaluation.objects.filter(run=run, state__in=LIVE).exists()


def _named(fork: Run) -> str:
    return fork.name if can(fork, Role.VIEWER) else "a run of another project"


def _needed_by_forks(deleted: set[str]) -> dict[str, list[Run]]:
    """By run in `deleted`: the forks that stay and have no copy of the checkpoint they start from, while all copies of
    it are in runs of `deleted`. Forks usually have one, made when they were launched."""
    root = Path(settings.RUNS_DIR)
    needed: dict[str, list[Run]] = {}
    forks = Run.objects.filter(fork_step__isnull=False).exclude(pk__in=deleted).only("name", "config", "project")
    for fork in forks.order_by("created_at").iterator():
        start = fork.config["model"]["start_from"]
        if (root / fork.pk / "start" / start["run"] / f"step_{start['step']}").is_dir():
            continue
        holders = {path.relative_to(root).parts[0] for path in copies_of(root, start["run"], start["step"])}
        for holder in holders if holders <= deleted else ():
            needed.setdefault(holder, []).append(fork)
    return needed


def _set_aside(root: Path, run_id: str) -> Path | None:
    """Under another name, so that nothing finds half a run; None if there is no directory."""
    directory, doomed = root / run_id, root / f"{DOOMED}{run_id}"
    if directory.is_symlink() or not directory.is_dir():
        return None
    if doomed.is_dir():  # of an earlier removal that did not end: the run was restored meanwhile, and deleted again
        shutil.rmtree(doomed)
    directory.rename(doomed)
    return doomed


def sweep() -> int:
    """Removes the directories of deleted runs that are still there: large ones, and those that a crash has left.
    Returns how many there were."""
    root = Path(settings.RUNS_DIR)
    names = {path.name for path in root.iterdir()} if root.is_dir() else set()
    gone = names & set(DeletedRun.objects.values_list("pk", flat=True))
    for run_id in gone - set(Run.objects.filter(pk__in=gone).values_list("pk", flat=True)):  # one may be restored
        _set_aside(root, run_id)
    doomed = [path for path in root.glob(f"{DOOMED}*") if path.is_dir() and not path.is_symlink()]
    for path in doomed:
        try:
            shutil.rmtree(path)
        except OSError as error:
            log.warning("The directory of a deleted run remains: %s", error)
    return len(doomed)
