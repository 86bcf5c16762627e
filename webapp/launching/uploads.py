"""Accepting an upload of rollouts: its files are stored in a folder of their own, and a worker imports them."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction

from engine.disk_room import NO_ROOM
from engine.foreign.import_command import REQUEST, path_of
from webapp.audit.services import Actor, record_of
from webapp.jobs import LIVE, Refused
from webapp.launching.models import RolloutImport, imports_folder
from webapp.projects.models import Project
from webapp.runs.names import generated_name
from webapp.runs.quotas import QuotaExceeded, check_disk

MOST_MEGABYTES = 64
MOST_FILES = 100
MOST_LIVE = 20  # of a user, queued or running
LONGEST_FILE_NAME = 200
SPLITS = ("", "train", "validation")


class NoRoom(Refused):
    """The disk is full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """One file: its name, which may contain the step, and its bytes in parts."""

    name: str
    parts: Iterable[bytes]


def accept(
    uploads: Sequence[Upload], owner: User | AnonymousUser, *, project: Project, name: str = "", split: str = ""
) -> RolloutImport:
    """A queued import of files that are stored. `Refused` with a reason otherwise, and then nothing is stored."""
    if not isinstance(owner, User):
        raise Refused("Sign in first.")
    if not uploads:
        raise Refused("Choose at least one file.")
    if len(uploads) > MOST_FILES:
        raise Refused(f"{len(uploads)} files were given; the limit is {MOST_FILES}. Concatenate some of them.")
    if split not in SPLITS:
        raise Refused(f"There is no split {split[:20]!r}. Give train or validation, or leave it out.")
    try:
        check_disk(owner.pk)
    except QuotaExceeded as exceeded:
        raise Refused(str(exceeded)) from None
    folder = imports_folder() / uuid.uuid4().hex
    try:
        size, lines = _store(uploads, folder, split)
        return _queue(uploads, owner, project, name, split, folder, size, lines)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        if error.errno not in NO_ROOM:
            raise
        raise NoRoom("The site's disk is full, so the upload was not stored. Try again once there is room.") from None
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def stop(found: RolloutImport, user: Actor) -> bool:
    """False if it is over."""
    with transaction.atomic():
        stopped = record_of(found, user, "halt", found.stop())
    found.refresh_from_db()
    if not found.is_live:
        remove_files(found)
    return stopped


def remove_files(found: RolloutImport) -> None:
    """Of an import that is over: its upload, and the directory of a run that it did not create."""
    shutil.rmtree(found.folder, ignore_errors=True)
    if found.run_id is None:
        shutil.rmtree(found.run_directory, ignore_errors=True)


def _store(uploads: Sequence[Upload], folder: Path, split: str) -> tuple[int, int]:
    """Bytes and lines. Only this site's user can read the files."""
    folder.mkdir(mode=0o700, parents=True)
    size = lines = 0
    for position, upload in enumerate(uploads):
        descriptor = os.open(path_of(folder, position), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            end = b"\n"
            for part in upload.parts:
                size += len(part)
                if size > MOST_MEGABYTES * 1_000_000:
                    raise Refused(
                        f"The files have more than {MOST_MEGABYTES} MB, which is the limit of an upload. "
                        "Use `python manage.py import_rollouts`, which has no limit."
                    )
                lines += part.count(b"\n")
                end = part[-1:] or end
                file.write(part)
            lines += end != b"\n"
            file.flush()
            os.fsync(file.fileno())
    if not size:
        raise Refused("The upload is empty. Give JSON Lines: one rollout on each line.")
    request = {"files": _names(uploads), "split": split}
    (folder / REQUEST).write_text(json.dumps(request), encoding="utf-8")
    return size, lines


def _names(uploads: Sequence[Upload]) -> list[str]:
    """A browser or a client may send anything."""
    plain = [upload.name.replace("\0", "\ufffd").encode("utf-8", "replace").decode() for upload in uploads]
    return [name[:LONGEST_FILE_NAME] for name in plain]


def _queue(
    uploads: Sequence[Upload],
    owner: User,
    project: Project,
    name: str,
    split: str,
    folder: Path,
    size: int,
    lines: int,
) -> RolloutImport:
    with transaction.atomic():
        User.objects.select_for_update().get(pk=owner.pk)
        live = RolloutImport.objects.filter(owner=owner, state__in=LIVE).count()
        if live >= MOST_LIVE:
            raise Refused(f"You have {live} imports in progress, which is the limit. Wait until one of them ends.")
        made = RolloutImport.objects.create(
            owner=owner,
            project=project,
            name=name.strip()[:80] or generated_name(),
            split=split,
            files=_names(uploads),
            bytes=size,
            lines=lines,
            upload=folder.name,
        )
        record_of(made, owner, "submit")
        transaction.on_commit(made.enqueue)
    return made
