"""`starboard leaderboard`: the entries of a suite that are ranked together."""

from __future__ import annotations

import argparse
from typing import Literal

from starboard_client.client import Starboard
from starboard_client.models import Entry
from starboard_client.output import as_json, note, number, table
from starboard_client.verbs import DONE, Verbs, add_json, add_limit


def add_leaderboard(nouns: Verbs[argparse.ArgumentParser]) -> None:
    board = nouns.add_parser("leaderboard", help="rank the models that were evaluated on a suite")
    board.add_argument("suite", nargs="?", default="", help="the name of the suite; by default that with most entries")
    board.add_argument("--sort", default="-success", help="a column, descending with - (default: -success)")
    board.add_argument("--seeds", action="store_true", help="one row for all training seeds of a configuration")
    board.add_argument("--baseline", type=int, help="the evaluation that rows are compared with")
    add_limit(board, "rows")
    add_json(board)
    board.set_defaults(do=leaderboard)


def leaderboard(args: argparse.Namespace) -> int:
    per: Literal["entry", "configuration"] = "configuration" if args.seeds else "entry"
    with Starboard() as starboard:
        found = list(starboard.entries(args.suite, sort=args.sort, per=per, baseline=args.baseline, limit=args.limit))
    if args.json:
        as_json([entry.model_dump() for entry in found])
        return DONE
    if not found:
        note("No evaluation is ranked yet. Evaluate a model: starboard suites evaluate SUITE --directory tiny")
    column = args.sort.lstrip("-")
    rows = [(_rank(one), one.ties, one.name, one.evaluation, _value(one, column), number(one.p)) for one in found]
    table(("RANK", "TIES", "MODEL", "EVALUATION", f"{column.upper()} [95%]", "P"), rows)
    return DONE


def _rank(one: Entry) -> str:
    """With the ranks that the data allow."""
    if one.rank is None:
        return ""
    best, worst = one.ranks or (one.rank, one.rank)
    return str(one.rank) if best == worst else f"{one.rank} ({best}-{worst})"


def _value(one: Entry, column: str) -> str:
    value, low, high = one.values.get(column) or (None, None, None)
    return number(value) if low is None or high is None else f"{number(value)} [{number(low)}, {number(high)}]"
