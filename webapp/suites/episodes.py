"""Single episodes of an evaluation: the list of an item's, and the record of one for the replay."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.errors import RunDirectoryError
from engine.rollout.trajectory_files import read_text
from engine.suites.outcomes import Outcome, find_outcome, read_columns
from engine.suites.suite import Suite, SuiteItem
from webapp.suites.models import SuiteEvaluation

COLUMNS = ["item", "problem", "seed", "sample", "success", "episode_return", "turns", "tokens", "stop", "error"]
PAGE = 100
RESULTS = {"solved": "solved", "not-solved": "not solved", "not-scored": "not scored"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """An episode in the list. `position` is the index of its problem in the item."""

    position: int
    problem: str
    seed: int
    sample: int
    success: bool | None
    episode_return: float | None
    turns: int
    tokens: int | None
    stop: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    episodes: list[Listed]
    total: int
    number: int  # from 1
    pages: int


def page_of(evaluation: SuiteEvaluation, item: SuiteItem, *, result: str, number: int) -> Page:
    """A page of the item's episodes in the order of the suite, of one result unless that is empty."""
    table = _in_order(read_columns(evaluation.folder, COLUMNS), item, result)
    pages = max(1, -(-table.num_rows // PAGE))
    number = min(max(1, number), pages)
    rows = table.slice((number - 1) * PAGE, PAGE).to_pylist()
    newest = {(row["position"], row["sample"]): row for row in rows}  # of an episode that was played again
    episodes = [Listed(**{name: value for name, value in row.items() if name != "item"}) for row in newest.values()]
    return Page(episodes=episodes, total=table.num_rows, number=number, pages=pages)


def outcome_at(evaluation: SuiteEvaluation, suite: Suite, *, item: int, problem: int, sample: int) -> Outcome | None:
    """By its position: the item's order, the index of its problem, and its sample."""
    if item >= len(suite.items) or problem >= len(suite.items[item].problems):
        return None
    found = suite.items[item]
    return find_outcome(evaluation.folder, item=found.name, problem=found.problems[problem], sample=sample)


def record_text(evaluation: SuiteEvaluation, outcome: Outcome) -> bytes:
    """The trajectory as the JSON that was recorded; `RunDirectoryError` with the reason if it cannot be read."""
    root = evaluation.folder.resolve()
    path = (root / outcome.file).resolve()
    if not outcome.file or not path.is_relative_to(root):
        raise RunDirectoryError("This episode has no trajectory.", remedy="Evaluate again to record one.")
    try:
        return read_text(path, outcome.offset, outcome.length)
    except OSError as error:
        raise RunDirectoryError(
            f"The trajectory file {outcome.file} of evaluation {evaluation.pk} cannot be read: "
            f"{error.strerror or error}.",
            remedy="Check the permissions and the disk of the evaluation's directory.",
        ) from None


def record(evaluation: SuiteEvaluation, outcome: Outcome) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(record_text(evaluation, outcome))
    return found


def samples_of(
    evaluation: SuiteEvaluation, suite: Suite, *, item: int, problem: int
) -> Sequence[tuple[int, Outcome | None]]:
    """All samples of a problem."""
    numbers = range(suite.items[item].samples)
    return [(sample, outcome_at(evaluation, suite, item=item, problem=problem, sample=sample)) for sample in numbers]


def _in_order(table: Any, item: SuiteItem, result: str) -> Any:
    """The item's rows with the index of their problem, by that and by sample; quick for a million rows."""
    import pyarrow
    import pyarrow.compute as pc

    table = table.filter(pc.equal(table["item"], item.name))
    if result == "not-scored":
        table = table.filter(pc.is_null(table["success"]))
    elif result:
        table = table.filter(pc.equal(table["success"], result == "solved"))
    positions = pc.index_in(table["problem"], value_set=pyarrow.array(item.problems))
    table = table.append_column("position", positions)
    return table.filter(pc.is_valid(positions)).sort_by([("position", "ascending"), ("sample", "ascending")])
