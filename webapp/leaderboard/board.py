"""A leaderboard's page: the entries of a suite that are ranked together, and below them those that cannot be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db.models import Count, F, Max, QuerySet, Window
from django.db.models.functions import Rank

from engine.suites.comparability import differences
from webapp.jobs import JobState
from webapp.leaderboard.columns import COLUMNS, Column
from webapp.leaderboard.models import Entry
from webapp.leaderboard.problem_scores import ProblemScores, problem_scores
from webapp.leaderboard.query import PAGE, SHORT_KEY, BoardQuery
from webapp.leaderboard.rows import Row, name_of
from webapp.leaderboard.seed_rows import Listed, SeedGroup, grouped, problem_interval, seed_standings, sorted_by
from webapp.leaderboard.standings import MOST_PAIRS, Standing, Standings, standings
from webapp.suites.models import Suite, SuiteEvaluation

MOST_OTHERS = 50  # entries of other keys that are shown


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
    by_key = Entry.objects.filter(suite=suite).order_by().values_list("key")
    keys = [_Key(*row) for row in by_key.annotate(count=Count("pk"), newest=Max("pk"), version=Max("suite_version"))]
    states = SuiteEvaluation.objects.filter(version__suite=suite).values_list("state").annotate(count=Count("pk"))
    by_state = dict(states.order_by())
    board.in_progress = by_state.get(JobState.QUEUED, 0) + by_state.get(JobState.RUNNING, 0)
    board.unfinished = by_state.get(JobState.FAILED, 0) + by_state.get(JobState.STOPPED, 0)
    if not keys:
        return board
    pinned = Entry.objects.filter(suite=suite, pk=query.baseline).first() if query.baseline else None
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
    board.others = _others(suite, board.key, [one for one in keys if one.key != board.key])
    return board


def matching_entries(suite: Suite, key: str, query: BoardQuery) -> QuerySet[Entry]:
    """Those with the key that the filter leaves."""
    found = Entry.objects.filter(suite=suite, key=key)
    for word in query.text.casefold().split():
        found = found.filter(text__contains=word)
    return found.filter(policy=query.policy) if query.policy else found


def _fill_entries(board: Board, matching: QuerySet[Entry], pinned: Entry | None, most: int) -> None:
    query = board.query
    measure = query.measure
    column, value = F(COLUMNS[query.sort].field), F(measure.field)
    order = column.asc(nulls_last=True) if query.ascending else column.desc(nulls_last=True)
    best_first = value.asc(nulls_last=True) if measure.ascending else value.desc(nulls_last=True)
    ranked = matching.annotate(rank=Window(Rank(), order_by=best_first)).order_by(order, "-success", "pk")
    start = (query.page - 1) * most
    ranks = dict(ranked.values_list("pk", "rank")[start : start + most])  # without the rows' many other columns
    shown = with_runs(ranks)
    board.total = matching.count()
    compared = matching.filter(**{f"{measure.field}__isnull": False}).order_by(best_first, "pk")
    baseline = pinned.pk if pinned else compared.values_list("pk", flat=True).first()
    if len(ranks) < board.total <= MOST_PAIRS:
        family = list(compared.values_list("pk", flat=True))
    else:
        family = [pk for pk in sorted(ranks, key=lambda pk: (ranks[pk], pk)) if measure.is_known(shown[pk])]
    scores = problem_scores(list(dict.fromkeys([*family, *([baseline] if baseline else [])])), measure)
    found = standings(family, scores, baseline, pinned=board.pinned, fewer_is_better=measure.ascending)
    board.family = found.family
    board.without_totals = len(family) - len(set(family) & set(scores.entries))
    checkpoints = _checkpoints(board.key, list(shown.values()))
    board.rows = [
        Row(
            entry=shown[pk],
            rank=rank if measure.is_known(shown[pk]) else None,
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
    """How many entries a run has under the key: the best of many is better by luck."""
    runs = {entry.run_id for entry in shown if entry.run_id}
    counts = Entry.objects.filter(key=key, run__in=runs).values_list("run").annotate(count=Count("pk")).order_by()
    return dict(counts)


def _fill_configurations(board: Board, matching: QuerySet[Entry], pinned: Entry | None, most: int) -> None:
    query = board.query
    measure = query.measure
    fields = ("pk", "configuration", "training_seed", "step", measure.field)
    listed = map(Listed._make, matching.order_by("step", "pk").values_list(*fields))
    groups = grouped(listed, fewer_is_better=measure.ascending)
    board.total = len(groups)
    baseline = next((group for group in groups if pinned and any(one.pk == pinned.pk for one in group.members)), None)
    board.pinned = baseline is not None
    baseline = baseline or next((group for group in groups if group.is_compared), None)
    ordered = sorted_by(groups, _column_of(groups, matching, COLUMNS[query.sort]), ascending=query.ascending)
    shown = ordered[(query.page - 1) * most : query.page * most]
    compared = groups if len(groups) <= MOST_PAIRS else shown
    found = seed_standings(compared, baseline, pinned=board.pinned, fewer_is_better=measure.ascending)
    members = [one.pk for group in shown for one in group.members]
    entries = with_runs(members)
    scores = problem_scores(members)
    board.rows = [_configuration(group, entries, found, scores) for group in shown]
    board.family = found.family
    if baseline is not None:
        entry = entries.get(baseline.key) or with_runs([baseline.key])[baseline.key]
        board.baseline = Row(entry=entry, rank=None, standing=Standing(), group=baseline)


def _column_of(
    groups: Sequence[SeedGroup], matching: QuerySet[Entry], column: Column
) -> Mapping[int, float | None] | Mapping[int, str | None]:
    """What each group shows in the column: the mean of its members, or their name."""
    if column.unit == "text":
        names = {pk: row for pk, *row in matching.order_by().values_list("pk", "name", "preset", "model")}
        return {group.key: name_of(*names[group.key], seeds=len(group.members)) for group in groups}
    values = dict(matching.order_by().values_list("pk", column.field))
    found = {group.key: [values[one.pk] for one in group.members] for group in groups}
    return {key: None if None in row else sum(row) / len(row) for key, row in found.items()}


def _configuration(group: SeedGroup, entries: Mapping[int, Entry], found: Standings, scores: ProblemScores) -> Row:
    return Row(
        entry=entries[group.key],
        members=[entries[one.pk] for one in group.members],
        rank=group.rank,
        standing=found.of.get(group.key, Standing()),
        group=group,
        problem_interval=problem_interval(group, scores),
    )


def _others(suite: Suite, key: str, keys: Sequence[_Key]) -> list[OtherConditions]:
    """The most common first. Conditions are the same for all entries of a key, so one of each is read."""
    if not keys:
        return []
    ordered = sorted(keys, key=lambda one: (-one.entries, one.key))
    newest = [one.newest for one in ordered]
    own = SuiteEvaluation.objects.filter(entry__suite=suite, key=key).values_list("conditions", flat=True).first()
    conditions = dict(SuiteEvaluation.objects.filter(pk__in=newest).values_list("pk", "conditions"))
    shown = Entry.objects.filter(suite=suite, key__in=[one.key for one in ordered]).order_by("-success", "pk")
    entries = with_runs(shown.values_list("pk", flat=True)[:MOST_OTHERS])
    by_key: dict[str, list[Entry]] = {}
    for entry in sorted(entries.values(), key=lambda entry: (-entry.success, entry.pk)):
        by_key.setdefault(entry.key, []).append(entry)
    return [
        OtherConditions(
            key=one.key,
            differences=differences(conditions.get(pk, []), own or []),
            count=one.entries,
            entries=by_key.get(one.key, []),
        )
        for one, pk in zip(ordered, newest, strict=True)
    ]
