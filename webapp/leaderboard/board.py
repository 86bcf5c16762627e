"""A leaderboard's page: the entries of a suite that are ranked together, and below them those that cannot be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db.models import Count, Max, QuerySet

from engine.suites.comparability import differences
from webapp.jobs import JobState
from webapp.leaderboard.columns import COLUMNS
from webapp.leaderboard.configurations import Configurations, configurations
from webapp.leaderboard.listing import Listing
from webapp.leaderboard.models import Entry
from webapp.leaderboard.problem_scores import ProblemScores, problem_scores
from webapp.leaderboard.query import PAGE, SHORT_KEY, BoardQuery
from webapp.leaderboard.rows import Row, name_of
from webapp.leaderboard.seed_rows import SeedGroup, problem_interval, seed_standings
from webapp.leaderboard.standings import MOST_PAIRS, Standing, Standings, standings
from webapp.projects.access import readable
from webapp.suites.models import Suite, SuiteEvaluation

MOST_OTHERS = 50  # entries of other keys that are shown
NOT_LISTED = (JobState.QUEUED, JobState.RUNNING, JobState.FAILED, JobState.STOPPED)


class _Key(NamedTuple):
    """A comparability key of the suite's entries: how many have it, and the newest of them."""

    key: str
    entries: int
    newest: int
    version: int


@dataclass(slots=True, kw_only=True)
class OtherConditions:
    """Entries of another comparability key, with what it differs in from the ranked one."""

    key: str
    differences: list[str]
    count: int
    entries: list[Entry]

    @property
    def short_key(self) -> str:
        return self.key[:SHORT_KEY]


@dataclass(slots=True, kw_only=True)
class Board:
    """`total` rows match the filter, of `ranked` entries with the key."""

    suite: Suite
    query: BoardQuery
    key: str = ""
    suite_version: int = 0
    rows: list[Row] = field(default_factory=list)
    total: int = 0
    ranked: int = 0
    baseline: Row | None = None
    pinned: bool = False
    unlisted_baseline: str = ""  # why the pinned one is not used
    family: str = ""
    without_totals: int = 0  # compared rows of which the measure is not known problem by problem
    others: list[OtherConditions] = field(default_factory=list)
    in_progress: int = 0
    unfinished: int = 0  # failed or stopped
    listed: Listing | Configurations | None = None  # all of those, on all pages

    @property
    def pages(self) -> int:
        return max(1, -(-self.total // PAGE))

    @property
    def samples(self) -> int:
        """Per problem; the same for all entries of a key."""
        return self.rows[0].entry.samples if self.rows else 1


def read_board(suite: Suite, query: BoardQuery, *, most: int = PAGE) -> Board:
    """A page of it; `most` is the number of rows of a page."""
    board = Board(suite=suite, query=query)
    by_key = readable(Entry.objects.filter(suite=suite)).order_by().values_list("key")
    keys = [_Key(*row) for row in by_key.annotate(count=Count("pk"), newest=Max("pk"), version=Max("suite_version"))]
    not_listed = readable(SuiteEvaluation.objects.filter(version__suite=suite, state__in=NOT_LISTED))
    by_state = dict(not_listed.values_list("state").annotate(count=Count("pk")).order_by())
    board.in_progress = by_state.get(JobState.QUEUED, 0) + by_state.get(JobState.RUNNING, 0)
    board.unfinished = by_state.get(JobState.FAILED, 0) + by_state.get(JobState.STOPPED, 0)
    if not keys:
        return board
    pinned = readable(Entry.objects.filter(suite=suite, pk=query.baseline)).first() if query.baseline else None
    chosen = next((one for one in keys if query.key and one.key.startswith(query.key)), None)
    chosen = chosen or next((one for one in keys if pinned and one.key == pinned.key), None)
    chosen = chosen or max(keys, key=lambda one: (one.entries, one.newest))
    board.key, board.suite_version, board.ranked = chosen.key, chosen.version, chosen.entries
    if query.baseline and (pinned is None or pinned.key != board.key):
        board.unlisted_baseline = "no longer exists" if pinned is None else "was evaluated under other conditions"
        pinned = None
    board.pinned = pinned is not None
    matching = matching_entries(suite, board.key, query)
    if query.by_configuration:
        _fill_configurations(board, matching, pinned, most)
    else:
        _fill_entries(board, matching, pinned, most)
    board.others = _others(suite, chosen, [one for one in keys if one.key != board.key])
    return board


def matching_entries(suite: Suite, key: str, query: BoardQuery) -> QuerySet[Entry]:
    """Those with the key that the filter leaves."""
    found = readable(Entry.objects.filter(suite=suite, key=key))
    for word in query.text.casefold().split():
        found = found.filter(text__contains=word)
    return found.filter(policy=query.policy) if query.policy else found


def _fill_entries(board: Board, matching: QuerySet[Entry], pinned: Entry | None, most: int) -> None:
    query, measure = board.query, board.query.measure
    board.listed = listing = Listing.of(matching, query)
    start = (query.page - 1) * most
    ranks = listing.ranks(start, start + most)
    board.total = len(listing.keys)
    best = listing.best_first
    baseline = pinned.pk if pinned else int(best[0]) if len(best) else None
    if len(ranks) < board.total <= MOST_PAIRS:
        family = best.tolist()
    else:
        known = {pk: rank for pk, rank in ranks.items() if rank is not None}
        family = sorted(known, key=lambda pk: (known[pk], pk))
    shown = with_runs(ranks)
    scores = problem_scores(list(dict.fromkeys([*family, *([baseline] if baseline else [])])), measure)
    found = standings(family, scores, baseline, pinned=board.pinned, fewer_is_better=measure.ascending)
    board.family = found.family
    board.without_totals = len(family) - len(set(family) & set(scores.entries))
    checkpoints = _checkpoints(board.key, list(shown.values()))
    board.rows = [
        Row(
            entry=shown[pk],
            rank=rank,
            standing=found.of.get(pk, Standing()),
            checkpoints=checkpoints.get(shown[pk].run_id or "", 1),
        )
        for pk, rank in ranks.items()
    ]
    if baseline is not None:
        entry = shown.get(baseline) or with_runs([baseline])[baseline]
        board.baseline = Row(entry=entry, rank=None, standing=Standing())


def with_runs(keys: Iterable[int]) -> dict[int, Entry]:
    """Entries with the colours of their runs, whose rows are kilobytes wide."""
    own = [field.name for field in Entry._meta.concrete_fields if field.name != "text"]
    return Entry.objects.select_related("run").only(*own, "run__colour").in_bulk(list(keys))


def _checkpoints(key: str, shown: Sequence[Entry]) -> dict[str, int]:
    """How many entries a run has under the key: the best of many is better by luck. All of them are in its project, so
    who reads one reads all."""
    runs = {entry.run_id for entry in shown if entry.run_id}
    counts = Entry.objects.filter(key=key, run__in=runs).order_by().values_list("run").annotate(count=Count("pk"))
    return dict(counts)


def _fill_configurations(board: Board, matching: QuerySet[Entry], pinned: Entry | None, most: int) -> None:
    query, measure = board.query, board.query.measure
    board.listed = listed = configurations(matching, measure.field, fewer_is_better=measure.ascending)
    board.total = len(listed)
    pinned_group = listed.with_member(pinned.pk) if pinned else None
    board.pinned = pinned_group is not None
    best = listed.best_compared() if pinned_group is None else pinned_group
    baseline = None if best is None else listed.group(best)
    shown = [listed.group(index) for index in _sorted(listed, matching, query)[(query.page - 1) * most :][:most]]
    compared = shown if len(listed) > MOST_PAIRS else [listed.group(index) for index in listed.best_first.tolist()]
    found = seed_standings(compared, baseline, pinned=board.pinned, fewer_is_better=measure.ascending)
    members = [one.pk for group in shown for one in group.members]
    entries = with_runs(members)
    scores = problem_scores(members)
    board.rows = [_configuration(group, entries, found, scores) for group in shown]
    board.family = found.family
    if baseline is not None:
        entry = entries.get(baseline.key) or with_runs([baseline.key])[baseline.key]
        board.baseline = Row(entry=entry, rank=None, standing=Standing(), group=baseline)


def _sorted(listed: Configurations, matching: QuerySet[Entry], query: BoardQuery) -> list[int]:
    """The groups in the order of the page: by the mean of their members, or by their name."""
    column = COLUMNS[query.sort]
    if column.unit == "text":
        rows = matching.order_by().values_list("pk", "name", "preset", "model")
        sizes = dict(zip(listed.first_keys.tolist(), listed.sizes.tolist(), strict=True))
        names = {pk: name_of(*row, seeds=sizes[pk]) for pk, *row in rows if pk in sizes}
        return listed.sorted_by_text(names, ascending=query.ascending)
    if column.key == query.measure.key:
        values = dict(zip(listed.keys.tolist(), listed.values.tolist(), strict=True))
    else:
        values = dict(matching.order_by().values_list("pk", column.field))
    return listed.sorted_by(values, ascending=query.ascending)


def _configuration(group: SeedGroup, entries: Mapping[int, Entry], found: Standings, scores: ProblemScores) -> Row:
    return Row(
        entry=entries[group.key],
        members=[entries[one.pk] for one in group.members],
        rank=group.rank,
        standing=found.of.get(group.key, Standing()),
        group=group,
        problem_interval=problem_interval(group, scores),
    )


def _others(suite: Suite, chosen: _Key, keys: Sequence[_Key]) -> list[OtherConditions]:
    """The most common first. Conditions are the same for all entries of a key, so one of each is read."""
    if not keys:
        return []
    ordered = sorted(keys, key=lambda one: (-one.entries, one.key))
    newest = [one.newest for one in (chosen, *ordered)]
    conditions = dict(SuiteEvaluation.objects.filter(pk__in=newest).values_list("pk", "conditions"))
    shown = readable(Entry.objects.filter(suite=suite, key__in=[one.key for one in ordered])).order_by("-success", "pk")
    by_key: dict[str, list[Entry]] = {}
    for entry in shown.select_related("run").only("key", "name", "success", "low", "high", "run__colour")[:MOST_OTHERS]:
        by_key.setdefault(entry.key, []).append(entry)
    return [
        OtherConditions(
            key=one.key,
            differences=differences(conditions.get(one.newest, []), conditions.get(chosen.newest, [])),
            count=one.entries,
            entries=by_key.get(one.key, []),
        )
        for one in ordered
    ]
