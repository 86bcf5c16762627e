"""Submitting and reading what-ifs. A worker plays them; each user has one at a time."""

from __future__ import annotations

import json
import os
from typing import Any, BinaryIO, TypedDict

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.utils.text import capfirst
from pydantic import ValidationError

from engine.config import problems_by_field
from engine.what_if.events import WHAT_IF_EVENT, WhatIfEvent
from engine.what_if.request import EVENTS, WhatIfRequest
from webapp.audit.services import Actor
from webapp.audit.services import record as audit
from webapp.jobs import Refused
from webapp.whatif.models import WhatIf
from webapp.whatif.origins import ForkedOrigin, Origin

MOST_TOKENS = 8192
MOST_SECONDS = 300.0
MOST_READ = 256 * 1024
LONGEST_LINE = 8 << 20


Event = dict[str, Any]


def submit(origin: Origin, owner: User | AnonymousUser | None, fields: dict[str, Any]) -> WhatIf:
    """A queued what-if; `Refused` with a reason otherwise. `fields` are those of `WhatIfRequest` that a user may
    choose."""
    if reason := origin.obstacle():
        raise Refused(reason)
    if "\0" in fields["text"]:
        raise Refused("The text has a NUL character. Remove it.")
    try:
        request_of(origin, fields)
    except ValidationError as error:
        raise Refused(
            "; ".join(f"{field}: {reason}" for field, reason in problems_by_field(error, WhatIfRequest))
        ) from None
    if fields.get("turn", 0) >= origin.turns:
        raise Refused(f"{capfirst(origin.name)} has {origin.turns} turns; choose one of these.")
    user = owner if isinstance(owner, User) else None
    with transaction.atomic():
        if WhatIf.any_live_of(user):
            raise Refused(
                "You already have a what-if in progress. Wait until it ends, or stop it, before you submit another."
            )
        made = WhatIf.objects.create(
            run=origin.run, parent=origin.parent, owner=user, **origin.trajectory_key, **fields
        )
        if not made.reserve_checkpoint():
            raise Refused(f"The checkpoint {made.checkpoint} no longer exists: choose another one.")
        detail = {name: fields[name] for name in ("edit", "checkpoint", "temperature", "seed") if name in fields}
        audit(origin.run, owner, "what_if_again" if origin.parent else "what_if", turn=made.turn + 1, **detail)
        transaction.on_commit(made.enqueue)
    return made


@transaction.atomic
def stop(what_if: WhatIf, user: Actor) -> bool:
    """False if it is over."""
    return audit(what_if.run, user, "stop_what_if", what_if.stop(), turn=what_if.turn + 1)


def request_of(origin: Origin, fields: dict[str, Any], *, device: str = "auto") -> WhatIfRequest:
    """The request for the engine; `RunDirectoryError` if the trajectory no longer exists."""
    return WhatIfRequest.model_validate(
        {
            "run_dir": str(origin.run.directory.resolve()),
            **origin.location(),
            "most_tokens": MOST_TOKENS,
            "most_seconds": MOST_SECONDS,
            "device": device,
            **fields,
        }
    )


class Updates(TypedDict):
    """`events` in the order of `seq`, up to `last_seq`; `state` was read before them, so that none precedes an end."""

    events: list[Event]
    last_seq: int
    state: dict[str, Any]


def updates_after(what_if: WhatIf, seq: int) -> Updates:
    """The events after `seq`, and the state of `what_if` as it was read."""
    state = {"state": what_if.state, "label": what_if.get_state_display(), "live": what_if.is_live}
    ending = {"message": what_if.message, "remedy": what_if.remedy, "summary": what_if.summary}
    events = events_after(what_if, seq)
    return {"events": events, "last_seq": events[-1]["seq"] if events else seq, "state": state | ending}


def events_after(what_if: WhatIf, seq: int) -> list[Event]:
    """The next complete events of the engine after `seq`, which is the offset at which an event's line ends.

    For a `seq` at which no line ends, all events from the beginning. Links are not followed.
    """
    try:
        with open(what_if.folder / EVENTS, "rb", opener=_without_links) as file:
            start = seq if _is_line_end(file, seq) else 0
            file.seek(start)
            data = file.read(MOST_READ) + file.readline(LONGEST_LINE)
    except OSError:
        return []
    events: list[Event] = []
    for line in data[: data.rfind(b"\n") + 1].splitlines(keepends=True):
        start += len(line)
        events.append({"seq": start, **json.loads(line)})
    return events


def last_event(what_if: WhatIf) -> WhatIfEvent | None:
    """The newest event of the engine; None if none can be read."""
    found: Event = {"seq": 0}
    while events := events_after(what_if, found["seq"]):
        found = events[-1]
    try:
        return WHAT_IF_EVENT.validate_python({name: value for name, value in found.items() if name != "seq"})
    except ValidationError:
        return None


def _is_line_end(file: BinaryIO, seq: int) -> bool:
    if seq == 0:
        return True
    file.seek(seq - 1)
    return file.read(1) == b"\n"


def bytes_written(what_if: WhatIf) -> int:
    try:
        return (what_if.folder / EVENTS).stat(follow_symlinks=False).st_size
    except OSError:
        return 0


def record(what_if: WhatIf) -> dict[str, Any]:
    """Its trajectory; `RunDirectoryError` if there is none."""
    return ForkedOrigin(what_if).record()


def _without_links(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW)
