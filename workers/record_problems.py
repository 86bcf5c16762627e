"""What is wrong with the record of a run: lines that are no events, events that are missing, a file that was cut,
replaced or deleted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from engine.events import Event, GroupsFiltered, ProblemsPlayed, StepCompleted
from webapp.alerts.run_events import plan_record_damaged
from webapp.runs.models import RecordProblem, Run
from workers.tail import LONGEST_LINE, Chunk, Line

MOST_PROBLEMS = 1000  # of a run that are kept
MOST_CHARACTERS = 2000  # of a damaged line
MOST_OF_NEWER = 1 << 16  # of an event that this version does not know
MOST_COUNTED = 10_000_000  # events of a run whose numbers are compared with the file
MOST_RANGES = 5
SEQ = re.compile(rb'"seq":\s*(\d{1,18})\b')
Kind = RecordProblem.Kind
IN_COLUMNS = StepCompleted | GroupsFiltered | ProblemsPlayed  # whose events are not stored as they are
NOTIFIED = frozenset({Kind.GAP, Kind.REPLACED, Kind.GONE, Kind.CONFLICT, Kind.BEHIND})
IN_NO_FILE = frozenset({Kind.GONE, Kind.BEHIND})


def problems_in(run: Run, chunk: Chunk) -> Iterator[RecordProblem]:
    """`run` as it was before the chunk."""
    if chunk.replaced:
        yield _replaced(run)
    if others := _under_known_numbers(run, chunk.events):
        reason = (
            f"{_named(others)} came again with other contents, and the second ones are ignored: the file was replaced, "
            "or its numbering began again."
        )
        yield RecordProblem(run=run, kind=Kind.CONFLICT, offset=chunk.start, reason=reason)
    yield from _unknown_fields(run, chunk)
    offset, seq, unread = chunk.start, run.last_seq, run.lines_refused
    for line in chunk.lines:
        if line.event is None:
            unread += 1
            kind = Kind.NEWER if line.newer else Kind.LINE
            yield RecordProblem(run=run, kind=kind, offset=offset, reason=line.refused, line=_shown(line))
        elif line.event.seq > seq:
            if (missing := line.event.seq - seq - 1) > unread:
                reason = f"{missing} events between {seq} and {line.event.seq} are not in the file."
                yield RecordProblem(run=run, kind=Kind.GAP, offset=offset, reason=reason)
            seq, unread = line.event.seq, 0
        offset = line.end


def late_in(run: Run, chunk: Chunk, attempt: int) -> Iterator[RecordProblem]:
    """Events of engines that a newer attempt, `attempt` or one in the chunk, has replaced, as one problem."""
    late, offset, first = 0, chunk.start, chunk.start
    for line in chunk.lines:
        if line.event is not None and line.event.seq > run.last_seq:
            if line.event.attempt < attempt:
                first, late = first if late else offset, late + 1
            attempt = max(attempt, line.event.attempt)
        offset = line.end
    if late:
        which = f"{late} event{'s' if late > 1 else ''} of an earlier attempt came after attempt {attempt} had started"
        yield RecordProblem(run=run, kind=Kind.LATE, offset=first, reason=f"{which}. They are only in the file.")


def lines_refused_at_end(chunk: Chunk, before: int) -> int:
    """Lines without an event since the newest event. Each of them may have been the event of a missing number."""
    last = max((index for index, line in enumerate(chunk.lines) if line.event is not None), default=None)
    return before + len(chunk.lines) if last is None else len(chunk.lines) - last - 1


def save_problems(run: Run, problems: list[RecordProblem], *, notifies: bool = True) -> None:
    """Each once, however often its lines are read, and only so many that damage without end fills no database; the
    first of each kind always. People are notified of it if events may be lost."""
    if not problems:
        return
    known = set(run.record_problems.order_by().values_list("kind", flat=True).distinct())
    first = {str(one.kind): one for one in reversed(problems) if one.kind not in known}
    for problem in first.values() if notifies else ():
        if problem.kind in NOTIFIED:
            plan_record_damaged(run, problem.reason, _remedy(run, problem))
    room = max(0, MOST_PROBLEMS - run.record_problems.count())
    kept = [*problems[:room], *(one for one in problems[room:] if first.get(str(one.kind)) is one)]
    RecordProblem.objects.bulk_create(kept, ignore_conflicts=True)


def _remedy(run: Run, problem: RecordProblem) -> str:
    rebuild = f"manage.py rebuild_run {run.pk}"
    if problem.kind in IN_NO_FILE:
        return (
            f"Bring the file back from a backup, then run {rebuild}. Without it, leave the rows as they are: those of "
            "events that no file has cannot be made again."
        )
    return f"{rebuild} makes the rows from the file again; rows that it no longer has are lost."


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


def is_gone(path: Path) -> bool:
    """Whether the file was deleted. If its directory is gone too, a disk may be missing for a while."""
    return not path.exists() and path.parent.is_dir()


def gone(run: Run) -> RecordProblem:
    reason = (
        f"The file was deleted: {run.event_offset} bytes of it had been read. Events 1 to {run.last_seq} are only in "
        "the database. An engine that still runs writes into the deleted file: stop the run and resume it from its "
        "newest checkpoint."
    )
    return RecordProblem(run=run, kind=Kind.GONE, offset=run.event_offset, reason=reason)


def _replaced(run: Run) -> RecordProblem:
    missing = _missing_in(run.directory / "events.jsonl", run.last_seq)
    rest = f"{_named(missing)} can only be in the database." if missing else "No number of an event is missing in it."
    reason = (
        f"The file was cut or replaced: {run.event_offset} bytes of it had been read, and it has others now. {rest}"
    )
    return RecordProblem(run=run, kind=Kind.REPLACED, offset=run.event_offset, reason=reason)


def _missing_in(path: Path, last: int) -> list[int]:
    """Numbers up to `last` that no line of the file has."""
    last = min(last, MOST_COUNTED)
    found = bytearray(last + 1)
    with path.open("rb") as file:
        while line := file.readline(LONGEST_LINE):
            if (match := SEQ.search(line)) and 0 < (seq := int(match[1])) <= last:
                found[seq] = 1
    return [seq for seq in range(1, last + 1) if not found[seq]]


def _unknown_fields(run: Run, chunk: Chunk) -> Iterator[RecordProblem]:
    """Of events of a newer version whose tables have no column for them: the first event with each such field."""
    offset, found = chunk.start, set[str]()
    for line in chunk.lines:
        event = line.event
        if isinstance(event, IN_COLUMNS) and event.seq > run.last_seq and event.model_extra:
            fields = ", ".join(sorted(event.model_extra.keys() - {"crc"}))
            reason = f"Fields of {event.kind} that this version does not know: {fields}. They are only in the file."
            if fields and reason not in found:
                found.add(reason)
                if not run.record_problems.filter(kind=Kind.NEWER, reason=reason).exists():
                    yield RecordProblem(run=run, kind=Kind.NEWER, offset=offset, reason=reason, line=_shown(line))
        offset = line.end


def _under_known_numbers(run: Run, events: list[Event]) -> list[int]:
    """Numbers of events that other events had before: in rows, or in the same chunk."""
    first: dict[int, Event] = {}
    others = {event.seq for event in events if first.setdefault(event.seq, event) != event}
    known = {seq: event for seq, event in first.items() if seq <= run.last_seq}
    if known:
        span = {"seq__gte": min(known), "seq__lte": max(known)}
        rows = list(run.events.filter(**span).values_list("seq", "kind", "attempt", "step", "time"))
        steps = run.steps.filter(**span).values_list("seq", "attempt", "step", "time")
        rows += [(seq, "step_completed", attempt, step, time) for seq, attempt, step, time in steps]
        others |= {row[0] for row in rows if row[0] in known and row != _row_of(known[row[0]])}
    return sorted(others)


def _row_of(event: Event) -> tuple[int, str, int, int, float]:
    return event.seq, event.kind, event.attempt, event.step, event.time


def _named(numbers: list[int]) -> str:
    """Sorted numbers of events, such as `Events 3 to 7, 9`; of one `Event 3`."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    texts = [str(low) if low == high else f"{low} to {high}" for low, high in ranges[:MOST_RANGES]]
    more = [f"and {len(ranges) - MOST_RANGES} more ranges"] if len(ranges) > MOST_RANGES else []
    return ("Event " if len(numbers) == 1 else "Events ") + ", ".join([*texts, *more])


def _shown(line: Line) -> str:
    most = MOST_OF_NEWER if line.newer else MOST_CHARACTERS
    return line.text[:most].decode(errors="replace").replace("\0", "�")
