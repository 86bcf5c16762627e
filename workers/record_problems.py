"""What is wrong with the record of a run: lines that are no events, events that are missing, a file that was cut."""

from __future__ import annotations

from collections.abc import Iterator

from webapp.runs.models import RecordProblem, Run
from workers.tail import Chunk, Line

MOST_PROBLEMS = 1000  # of a run that are kept
MOST_CHARACTERS = 2000  # of a line
Kind = RecordProblem.Kind


def problems_in(run: Run, chunk: Chunk) -> Iterator[RecordProblem]:
    """`run` as it was before the chunk."""
    if chunk.shorter:
        reason = f"The file was cut or replaced: {run.event_offset} bytes of it had been read, and now it has fewer."
        yield RecordProblem(run=run, kind=Kind.SHORTER, offset=run.event_offset, reason=reason)
    offset, seq, unread = chunk.start, run.last_seq, run.lines_refused
    for line in chunk.lines:
        if line.event is None:
            unread += 1
            yield RecordProblem(run=run, kind=Kind.LINE, offset=offset, reason=line.refused, line=_shown(line))
        elif line.event.seq > seq:
            if (missing := line.event.seq - seq - 1) > unread:
                reason = f"{missing} events between {seq} and {line.event.seq} are not in the file."
                yield RecordProblem(run=run, kind=Kind.GAP, offset=offset, reason=reason)
            seq, unread = line.event.seq, 0
        offset = line.end


def lines_refused_at_end(chunk: Chunk, before: int) -> int:
    """Lines without an event since the newest event. Each of them may have been the event of a missing number."""
    last = max((index for index, line in enumerate(chunk.lines) if line.event is not None), default=None)
    return before + len(chunk.lines) if last is None else len(chunk.lines) - last - 1


def save_problems(run: Run, problems: list[RecordProblem]) -> None:
    """Each once, however often its lines are read, and only so many that damage without end fills no database."""
    if not problems:
        return
    room = max(0, MOST_PROBLEMS - run.record_problems.count())
    RecordProblem.objects.bulk_create(problems[:room], ignore_conflicts=True)


class Lag:
    """Whether the engine has recorded events, by its heartbeats, that have not come for `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.missing = 0  # the newest event that the engine reported when the lag began
        self.since = 0.0
        self.reported = False

    def duration(self, now: float) -> float:
        """Seconds since the lag began; 0 without one."""
        return now - self.since if self.missing else 0.0

    def observe(self, recorded: int, stored: int, *, now: float) -> bool:
        """True once for each lag."""
        if self.missing <= stored:
            self.missing, self.since = (recorded, now) if recorded > stored else (0, 0.0)
            self.reported = False
            return False
        if self.reported or now - self.since <= self.seconds:
            return False
        self.reported = True
        return True


def behind(run: Run, recorded: int) -> RecordProblem:
    reason = (
        f"The engine has recorded {recorded} events, and the file has {run.last_seq}. It was deleted or replaced while "
        "the engine writes: stop the run and resume it from its newest checkpoint."
    )
    return RecordProblem(run=run, kind=Kind.BEHIND, offset=run.event_offset, reason=reason)


def _shown(line: Line) -> str:
    return line.text[:MOST_CHARACTERS].decode(errors="replace").replace("\0", "�")
