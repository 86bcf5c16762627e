"""The leaderboard: suites with entries, the entries of one, and two of them problem by problem."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from webapp.api.endpoints import Call, Fields, Resource
from webapp.api.problems import Problem
from webapp.leaderboard.board import Board, read_board
from webapp.leaderboard.columns import COLUMNS
from webapp.leaderboard.entries import add_new_entries
from webapp.leaderboard.exports import as_json
from webapp.leaderboard.models import Entry
from webapp.leaderboard.pair import Problem as PlayedProblem
from webapp.leaderboard.pair import read_pair
from webapp.leaderboard.query import BoardQuery, read_query
from webapp.leaderboard.views import listed_suites
from webapp.projects.access import readable
from webapp.suites.models import Suite

resource = Resource(tag="Leaderboard")

Ends = list[float | None]


class ListedSuite(BaseModel):
    name: str
    entries: int = Field(description="Finished evaluations that are listed.")


class SuiteList(BaseModel):
    suites: list[ListedSuite]
    unlisted: int = Field(description="Finished evaluations that a later request lists.")


class EntryFilter(Fields):
    suite: str = Field(default="", description="The name of the suite; by default the one with most entries.")
    q: str = Field(
        default="", max_length=100, description="Only entries whose model, run or preset contains these words."
    )
    policy: Literal["", "checkpoint", "directory", "endpoint"] = Field(
        default="", description="Only entries of such models."
    )
    sort: str = Field(
        default="-success",
        description=f"The order, descending with `-`: {', '.join(COLUMNS)}. Unknown values are last.",
    )
    per: Literal["entry", "configuration"] = Field(
        default="entry", description="`configuration` for one row for all training seeds of a configuration."
    )
    baseline: int | None = Field(default=None, ge=1, description="The evaluation that rows are compared with.")
    key: str = Field(default="", max_length=64, description="The beginning of the comparability key that is ranked.")
    limit: int = Field(default=100, ge=1, le=500, description="The most rows on a page.")
    after: int = Field(default=1, ge=1, le=100_000, description="The `next` of the previous page.")


class EntryAnswer(BaseModel):
    """A row: an evaluation, or a configuration that its first seed stands for."""

    evaluation: int
    name: str
    policy: str
    preset: str
    run: str | None
    step: int | None
    training_seeds: list[int | None]
    rank: int | None = Field(description="Rank by the measure; ties share one. Null where its value is not known.")
    ranks: list[int] | None = Field(description="The best and the worst rank that the data allow.")
    ties: str = Field(description="Rows with a letter in common do not differ significantly.")
    difference: float | None = Field(
        description="The measure minus that of the baseline, on problems that both played."
    )
    difference_low: float | None
    difference_high: float | None
    p: float | None = Field(description="The p-value of no difference, adjusted as `adjusted` says.")
    problems: int
    samples: int = Field(description="Per problem.")
    scored: int = Field(description="Episodes with a score.")
    planned: int
    device: str
    half_known: bool = Field(description="Without `half`, 50% success was never reached.")
    pass_curve: dict[str, Ends] = Field(description="pass@k and pass^k for each k, with the ends of their intervals.")
    values: dict[str, Ends | None] = Field(
        description="Value and ends of the 95% interval by column; null is unknown, not zero."
    )


class OtherKey(BaseModel):
    key: str
    count: int
    differences: list[str] = Field(description="How its conditions differ from the ranked ones.")


class BoardAnswer(BaseModel):
    suite: str
    suite_version: int
    key: str = Field(description="The comparability key that all rows have.")
    measure: str = Field(description="What rows are ranked and compared by: the column of `sort`, or `success`.")
    adjusted: str = Field(description="Which comparisons p-values are adjusted for.")
    baseline: int | None = Field(description="The evaluation that rows are compared with: the pinned one, or the best.")
    total: int
    rows: list[EntryAnswer]
    not_comparable: list[OtherKey] = Field(description="Entries that are not ranked with these.")
    next: int | None = Field(description="The `after` of the next page; null if this is the last.")


class PairFilter(Fields):
    first: int = Field(ge=1, description="An evaluation.")
    other: int = Field(ge=1, description="The evaluation that it is compared with.")
    measure: Literal["success", "return", "turns", "tokens", "format", "pass_at", "pass_all"] = Field(
        default="success", description="What they are compared by."
    )


class PairProblem(BaseModel):
    item: str
    index: int = Field(description="Position in the item, from 0.")
    identity: str
    seed: int
    solved: int
    scored: int
    other_solved: int
    other_scored: int
    score: float = Field(description="The measure of the first evaluation.")
    other_score: float


class PairAnswer(BaseModel):
    """`first - other`, on the problems that both have a score for. `p` is of this one comparison."""

    not_comparable: list[str] = Field(description="Why they are not compared; empty if they are.")
    difference: float
    low: float
    high: float
    p: float
    shared: int = Field(description="Problems.")
    more_by_first: list[PairProblem] = Field(
        description="Problems on which the measure is higher for the first evaluation: for success, those that it "
        "solved more often."
    )
    more_by_other: list[PairProblem]


@resource.get("leaderboard/", route="leaderboard")
def list_leaderboards(call: Call) -> SuiteList:
    """List the suites that have entries, the one with most first."""
    unlisted = add_new_entries()
    found = [ListedSuite(name=suite.name, entries=readable(suite.entries.all()).count()) for suite in listed_suites()]
    return SuiteList(suites=found, unlisted=unlisted)


@resource.get("leaderboard/entries", problems={404: "The suite has no entries."})
def list_entries(call: Call, query: EntryFilter) -> Annotated[dict[str, Any], BoardAnswer]:
    """List the entries of a suite that are ranked together, with intervals, ties and training costs.

    Only evaluations with the same environments, problems, budgets, sampling and scoring are ranked together. The
    others are counted in `not_comparable`, with what they differ in; `key` ranks them instead.
    """
    add_new_entries()
    suites = listed_suites()
    suite = next((one for one in suites if one.name == query.suite or not query.suite), None)
    if suite is None and query.suite:
        raise Problem(404, f"The suite {query.suite[:60]!r} has no entries", "Choose one of `list_leaderboards`.")
    board = read_board(suite, _query(query), most=query.limit) if suite else Board(suite=Suite(), query=BoardQuery())
    return {**as_json(board), "next": query.after + 1 if query.after * query.limit < board.total else None}


@resource.get("leaderboard/pair", problems={404: "One of the two is not on the leaderboard."})
def compare_entries(call: Call, query: PairFilter) -> PairAnswer:
    """Compare two entries problem by problem: which ones one of them solves and the other does not, or on which it has
    more of another measure."""
    add_new_entries()
    found = readable(Entry.objects.select_related("suite", "run")).in_bulk([query.first, query.other])
    if missing := {query.first, query.other} - set(found):
        raise Problem(404, f"Evaluation {min(missing)} is not on the leaderboard", "Choose two of `list_entries`.")
    page = read_pair(found[query.first], found[query.other], COLUMNS[query.measure])
    return PairAnswer(
        not_comparable=page.why_not,
        more_by_first=[_problem(one) for one in page.more_first],
        more_by_other=[_problem(one) for one in page.more_other],
        **{name: getattr(page, name) for name in ("difference", "low", "high", "p", "shared")},
    )


def _query(query: EntryFilter) -> BoardQuery:
    if query.sort.removeprefix("-") not in COLUMNS:
        raise Problem(
            400, f"sort is {query.sort[:40]!r}", f"Give one of {', '.join(COLUMNS)}, with `-` for descending."
        )
    given = {
        "suite": query.suite,
        "q": query.q,
        "policy": query.policy,
        "sort": query.sort,
        "as": query.per,
        "baseline": "" if query.baseline is None else str(query.baseline),
        "key": query.key,
        "page": str(query.after),
    }
    return read_query(given)


def _problem(one: PlayedProblem) -> PairProblem:
    names = ("item", "index", "identity", "seed", "solved", "scored", "other_solved", "other_scored", "score",
             "other_score")  # fmt: skip
    return PairProblem(**{name: getattr(one, name) for name in names})
