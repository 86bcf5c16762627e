"""Asking, stopping and reading what-ifs. A worker plays them; each user has one at a time."""

from __future__ import annotations

import json
import logging
import os
from typing import Any, BinaryIO, TypedDict

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.utils import timezone
from django.utils.text import capfirst
from kombu.exceptions import OperationalError
from pydantic import ValidationError

from engine.config import problems_by_field
from engine.what_if.request import EVENTS, WhatIfRequest
from webapp.audit.services import record as audit
from webapp.updates import publish_what_if
from webapp.whatif.models import LIVE, State, WhatIf
from webapp.whatif.origins import ForkedOrigin, Origin
from workers.app import WHAT_IF, app

log = logging.getLogger(__name__)

MOST_TOKENS = 8192
MOST_SECONDS = 300.0
MOST_READ = 256 * 1024
LONGEST_LINE = 8 << 20


Event = dict[str, Any]


class Refused(Exception):
    """Why a what-if is not played, for the user."""


def ask(origin: Origin, owner: User | AnonymousUser | None, fields: dict[str, Any]) -> WhatIf:
    """A queued what-if; `Refused` says why not. `fields` are those of `WhatIfRequest` that a user may choose."""
    if reason := origin.why_never():
        raise Refused(reason)
    if "\0" in fields["text"]:
        raise Refused("The text has a NUL character. Take it out.")
    try:
        request_of(origin, fields)
    except ValidationError as error:
        raise Refused("; ".join(f"{field}: {reason}" for field, reason in problems_by_field(error))) from None
    if fields.get("turn", 0) >= origin.turns:
        raise Refused(f"{capfirst(origin.name)} has {origin.turns} turns; choose one of them.")
    user = owner if isinstance(owner, User) else None
    with transaction.atomic():
        if user is not None:
            User.objects.select_for_update().get(pk=user.pk)  # two forms at once are two rows otherwise
        if WhatIf.objects.filter(owner=user, state__in=LIVE).exists():
            raise Refused("One of yours is under way. Wait for its end, or stop it, then ask the next.")
        made = WhatIf.objects.create(run=origin.run, parent=origin.parent, owner=user, **origin.place, **fields)
        told = {name: fields[name] for name in ("edit", "checkpoint", "temperature", "seed") if name in fields}
        audit(origin.run, owner, "what_if_again" if origin.parent else "what_if", turn=made.turn + 1, **told)
        transaction.on_commit(lambda: enqueue(made.pk))
    return made


def request_of(origin: Origin, fields: dict[str, Any], *, device: str = "auto") -> WhatIfRequest:
    """What the engine is asked; `RunDirectoryError` where there is nothing to fork any more."""
    return WhatIfRequest.model_validate(
        {
            "run_dir": str(origin.run.directory.resolve()),
            **origin.lies_at(),
            "most_tokens": MOST_TOKENS,
            "most_seconds": MOST_SECONDS,
            "device": device,
            **fields,
        }
    )


def enqueue(pk: int) -> bool:
    """Asks a worker to play it. With no broker it waits: `tend` looks for those that do."""
    try:
        app.signature(WHAT_IF, args=[pk]).apply_async(retry=False)
    except (OperationalError, OSError) as error:
        log.warning("What-if %d is queued as a row only, the broker cannot be reached: %s", pk, error)
        return False
    return True


def stop(asked: WhatIf) -> bool:
    """Ends a queued one at once, and asks the worker of a running one to."""
    now = timezone.now()
    queued = WhatIf.objects.filter(pk=asked.pk, state=State.QUEUED)
    if queued.update(state=State.STOPPED, ended_at=now, message="Stopped before it began."):
        transaction.on_commit(lambda: publish_what_if(asked.pk))
        return True
    return bool(WhatIf.objects.filter(pk=asked.pk, state=State.RUNNING).update(stop_asked=True))


class Told(TypedDict):
    """`events` in the order of `seq`, up to `last_seq`; `state` was read before them, so that none precedes an end."""

    events: list[Event]
    last_seq: int
    state: dict[str, Any]


def told_after(asked: WhatIf, seq: int) -> Told:
    """What the engine told after `seq`, and how `asked`, as it was read, stands."""
    state = {"state": asked.state, "label": asked.get_state_display(), "live": asked.is_live}
    words = {"message": asked.message, "remedy": asked.remedy, "summary": asked.summary}
    events = events_after(asked, seq)
    return {"events": events, "last_seq": events[-1]["seq"] if events else seq, "state": state | words}


def events_after(asked: WhatIf, seq: int) -> list[Event]:
    """The next whole messages of the engine after `seq`, the bytes of its file up to a message's end.

    A `seq` that is the end of none is answered from the beginning. Links are not followed.
    """
    try:
        with open(asked.folder / EVENTS, "rb", opener=_without_links) as file:
            start = seq if _is_an_end(file, seq) else 0
            file.seek(start)
            data = file.read(MOST_READ) + file.readline(LONGEST_LINE)
    except OSError:
        return []
    events: list[Event] = []
    for line in data[: data.rfind(b"\n") + 1].splitlines(keepends=True):
        start += len(line)
        events.append({"seq": start, **json.loads(line)})
    return events


def _is_an_end(file: BinaryIO, seq: int) -> bool:
    if seq == 0:
        return True
    file.seek(seq - 1)
    return file.read(1) == b"\n"


def bytes_told(asked: WhatIf) -> int:
    try:
        return (asked.folder / EVENTS).stat(follow_symlinks=False).st_size
    except OSError:
        return 0


def record(asked: WhatIf) -> dict[str, Any]:
    """The trajectory that came of it; `RunDirectoryError` where there is none."""
    return ForkedOrigin(asked).record()


def _without_links(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW)
