"""Sends what a spool holds, in order, and only what the site has not confirmed."""

from __future__ import annotations

from starboard_client.client import Starboard
from starboard_client.errors import Conflict
from starboard_client.models import RejectedLine
from starboard_client.spool import Spool


def send(spool: Spool, starboard: Starboard) -> tuple[int, list[RejectedLine]]:
    """Returns how many lines were sent, and those that the site rejected. Raises `StarboardError`, and may be called
    again after that."""
    create(spool, starboard)
    count, rejected = 0, []
    while batch := spool.next_batch():
        answer = starboard.send_lines(spool.run_id, batch.lines)
        spool.confirm(batch)
        count += len(batch.lines)
        rejected += answer.rejected
    return count, rejected


def create(spool: Spool, starboard: Starboard) -> None:
    """The run, unless the site has it: the same key creates one run, however often it is sent."""
    if not spool.run_id:
        spool.created(starboard.create_external_run(**spool.create, key=spool.key).id)


def end(spool: Spool, starboard: Starboard) -> None:
    """The run, if its end is known. The site may know it already, if its answer was lost."""
    if (ending := spool.ending) is None:
        return
    try:
        starboard.finish_external_run(spool.run_id, succeeded=ending.succeeded, reason=ending.reason)
    except Conflict:
        if not starboard.run(spool.run_id).ended:
            raise
