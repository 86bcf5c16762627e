"""Copies of runs that are over: into the bucket, verified; from there back, verified by hash; and freeing local files.

A copy is complete when its `manifest.json` is there, which is written last and has the path, size and SHA-256 of every
file. Storing again uploads what has changed.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from engine.errors import StarboardError
from engine.reservations import FOLDER
from webapp.copies.models import CopyState, StoredCopy
from webapp.jobs import LIVE
from webapp.runs.models import Run
from webapp.runs.states import TERMINAL
from webapp.updates import publish_run
from workers import lease
from workers.bucket import Bucket, BucketError, the_bucket

log = logging.getLogger(__name__)

MANIFEST, RECORD = "manifest.json", "events.jsonl"
PART = ".fetched"  # the end of the name of a file that is on its way from the bucket
FREED = ("checkpoints", "trajectories", "start")  # the record and the log stay, so that pages of the run work
NOT_COPIED = frozenset({"lock", "control.json", "heartbeat.json", "newest_event.json"})
AT_ONCE = 5  # runs of a round of housekeeping
AT_WORK = (CopyState.STORING, CopyState.FETCHING)
AGAIN_AFTER = timedelta(hours=1)  # one that failed
STALE_AFTER = timedelta(hours=12)  # a holder on a machine that is gone
ROUND = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    path: str
    size: int
    sha256: str


def store(run: Run, bucket: Bucket) -> StoredCopy:
    """Copies what the bucket does not have. `StarboardError` or `OSError` if that fails; the row says why."""
    copy = _take(run, CopyState.STORING, bucket)
    try:
        if run.state not in TERMINAL:
            raise BucketError(f"{run.name} is {run.get_state_display().lower()}.", remedy="Copy it once it is over.")
        before = _stored(run, bucket, needed=copy.freed)
        files = [*_files(run.directory)]
        here = {one.path for one in files}
        if RECORD in before and RECORD not in here:
            raise BucketError(f"{run.name} has lost its {RECORD}.", remedy=f"Run manage.py fetch_runs {run.pk}.")
        if copy.freed:
            files += [one for one in before.values() if one.path not in here and one.path.split("/")[0] in FREED]
        there = bucket.facts(f"{run.pk}/files")
        for one in files:
            if before.get(one.path) != one or there.get(one.path) != one.size:
                bucket.put_file(run.directory / one.path, f"{run.pk}/files/{one.path}", one.sha256)
        _check(bucket, run, files)
        content = _encode(files)
        bucket.put(f"{run.pk}/{MANIFEST}", content)
    except Exception as error:
        _leave(run, CopyState.FAILED, message=_text(error))
        raise
    _leave(
        run,
        CopyState.STORED,
        manifest=hashlib.sha256(content).hexdigest(),
        files=len(files),
        bytes=sum(one.size for one in files),
    )
    return StoredCopy.objects.get(pk=run.pk)


def free(run: Run, bucket: Bucket) -> int:
    """Removes trajectories and checkpoints here, after the bucket was seen to have them; bytes that were removed."""
    for rows in (run.what_ifs, run.evaluation_requests, run.suite_evaluations):
        if (job := rows.filter(state__in=LIVE).first()) is not None:
            raise BucketError(f"{run.name} is in use by its {job}.", remedy="Free its files when that has ended.")
    copy = store(run, bucket)
    stored = _stored(run, bucket)
    changed = [one.path for one in _files(run.directory) if stored.get(one.path) != one]
    if changed:
        raise BucketError(f"{changed[0]} of {run.name} has changed since it was copied.", remedy="Try again.")
    freed = 0
    StoredCopy.objects.filter(pk=copy.pk).update(freed=True)  # first: what is left halfway counts as freed
    for name in FREED:
        folder = run.directory / name
        if folder.is_dir() and not folder.is_symlink():
            freed += sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            shutil.rmtree(folder)
    publish_run(run.pk, run.last_seq)
    return freed


def fetch(run: Run, bucket: Bucket) -> int:
    """Brings back every file that is not here, compared with its hash; the number of files."""
    _take(run, CopyState.FETCHING, bucket)
    fetched = 0
    try:
        targets = {inside(run.directory, one.path): one for one in _stored(run, bucket, needed=True).values()}
        missing = {target: one for target, one in targets.items() if not target.exists()}
        if any(one.path.split("/")[0] in FREED for one in missing.values()):
            StoredCopy.objects.filter(pk=run.pk).update(freed=True)  # until all are here
        for target, one in missing.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(f"{target.name}{PART}")
            try:
                if bucket.get_file(f"{run.pk}/files/{one.path}", part) != one.sha256:
                    raise BucketError(f"{one.path} of {run.name} differs from what was copied to {bucket.url_of('')}.")
                part.replace(target)
            finally:
                part.unlink(missing_ok=True)
            fetched += 1
    except Exception as error:
        _leave(run, CopyState.STORED, message=_text(error))
        raise
    _leave(run, CopyState.STORED, freed=False)
    return fetched


def copy_ended_runs() -> None:
    """One round of the schedule; only one at a time in this process, as uploads may take longer than a round."""
    bucket = the_bucket()
    if bucket is not None and ROUND.acquire(blocking=False):
        try:
            store_ended(bucket)
            remove_orphans(bucket)
        finally:
            ROUND.release()


def store_ended(bucket: Bucket) -> None:
    """Copies runs that are over and have no copy of their newest end yet, some at a time; frees those that have been
    over long enough."""
    end_interrupted(_is_abandoned)
    due = Q(state=CopyState.FAILED, changed_at__lt=timezone.now() - AGAIN_AFTER)
    due |= Q(state=CopyState.STORED, changed_at__lt=OuterRef("finished_at"))
    known = StoredCopy.objects.filter(pk=OuterRef("pk")).exclude(due)
    over = Run.objects.filter(state__in=TERMINAL, finished_at__isnull=False)
    for run in over.exclude(Exists(known)).order_by("finished_at")[:AT_ONCE]:
        _try(store, run, bucket)
    if settings.STARBOARD_ARCHIVE_FREE_DAYS is not None:
        old = timezone.now() - timedelta(days=settings.STARBOARD_ARCHIVE_FREE_DAYS)
        stored = StoredCopy.objects.filter(state=CopyState.STORED, freed=False, changed_at__lt=old).values("pk")
        for run in over.filter(pk__in=stored, finished_at__lt=old).order_by("finished_at")[:AT_ONCE]:
            _try(free, run, bucket)


def end_interrupted(is_abandoned: Callable[[StoredCopy], bool]) -> None:
    """Of a worker or command that was killed: a copy is due again at once, and a run that was being fetched stays where
    it is until it is fetched again."""
    interrupted = [copy.pk for copy in StoredCopy.objects.filter(state__in=AT_WORK) if is_abandoned(copy)]
    rows, long_ago = StoredCopy.objects.filter(pk__in=interrupted), timezone.now() - 2 * AGAIN_AFTER
    rows.filter(state=CopyState.STORING).update(
        state=CopyState.FAILED, holder="", changed_at=long_ago, message="Copying was interrupted."
    )
    rows.filter(state=CopyState.FETCHING).update(
        state=CopyState.STORED,
        holder="",
        changed_at=timezone.now(),
        message="Fetching was interrupted: fetch it again.",
    )


def _is_abandoned(copy: StoredCopy) -> bool:
    return copy.changed_at < timezone.now() - STALE_AFTER or lease.holder_is_dead(copy.holder)


def remove_orphans(bucket: Bucket) -> None:
    """Copies of runs that were deleted."""
    runs = Run.objects.values("pk")
    for copy in StoredCopy.objects.exclude(pk__in=runs).exclude(state__in=AT_WORK):
        bucket.delete_all(copy.pk)
        copy.delete()


def inside(directory: Path, relative: str) -> Path:
    path = (directory / relative).resolve()
    if not path.is_relative_to(directory.resolve()):
        raise BucketError(f"The path {relative!r} of a manifest leads out of the run directory.")
    return path


def _take(run: Run, state: CopyState, bucket: Bucket) -> StoredCopy:
    """The row, held by this worker. A holder whose process is gone holds nothing."""
    with transaction.atomic():
        copy, _ = StoredCopy.objects.select_for_update().get_or_create(
            pk=run.pk, defaults={"state": CopyState.FAILED, "url": bucket.url_of(run.pk)}
        )
        if copy.state in AT_WORK and not _is_abandoned(copy):
            raise BucketError(
                f"{run.name} is {copy.get_state_display().lower()} already.", remedy="Wait until that is done."
            )
        StoredCopy.objects.filter(pk=copy.pk).update(
            state=state, holder=lease.this_holder(), url=bucket.url_of(run.pk), message="", changed_at=timezone.now()
        )
    publish_run(run.pk, run.last_seq)
    return copy


def _leave(run: Run, state: CopyState, **fields: Any) -> None:
    StoredCopy.objects.filter(pk=run.pk).update(state=state, holder="", changed_at=timezone.now(), **fields)
    publish_run(run.pk, run.last_seq)


def _files(directory: Path) -> Iterator[File]:
    for folder, names, found in os.walk(directory):
        names.sort()
        for name in sorted(found):
            path = Path(folder, name)
            relative = str(path.relative_to(directory))
            if name.endswith(PART):
                continue
            if relative not in NOT_COPIED and FOLDER not in path.parts and path.is_file() and not path.is_symlink():
                with path.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                yield File(path=relative, size=path.stat().st_size, sha256=digest)


def _stored(run: Run, bucket: Bucket, *, needed: bool = False) -> dict[str, File]:
    """The files of the manifest, which is that of the row."""
    content = bucket.get(f"{run.pk}/{MANIFEST}")
    known = StoredCopy.objects.filter(pk=run.pk).values_list("manifest", flat=True).first()
    if content is None or hashlib.sha256(content).hexdigest() != known:
        if needed:
            raise BucketError(f"{bucket.url_of(run.pk)} has no complete copy of {run.name}, or not the one stored.")
        return {}
    return {one["path"]: File(**one) for one in json.loads(content)["files"]}


def _check(bucket: Bucket, run: Run, files: list[File]) -> None:
    there = bucket.facts(f"{run.pk}/files")
    if missing := [one.path for one in files if there.get(one.path) != one.size]:
        raise BucketError(f"{len(missing)} files of {run.name} did not arrive, such as {missing[0]}.")


def _encode(files: list[File]) -> bytes:
    listed = [{"path": one.path, "size": one.size, "sha256": one.sha256} for one in files]
    return json.dumps({"files": listed}, indent=1).encode()


def _try(action: Callable[[Run, Bucket], object], run: Run, bucket: Bucket) -> None:
    try:
        action(run, bucket)
    except Exception as error:  # whatever a bucket answers: the other runs do not depend on it
        log.warning("Run %s and its copy: %s", run.pk, _text(error))


def _text(error: Exception) -> str:
    text = str(error) if isinstance(error, StarboardError) else f"{type(error).__name__}: {error}"
    return text.replace("\0", "\ufffd")[:2000]
