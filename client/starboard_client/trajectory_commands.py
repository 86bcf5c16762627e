"""`starboard runs trajectories`: recorded trajectories of a run, filtered, searched and sorted."""

from __future__ import annotations

import argparse
from typing import cast

from starboard_client.client import Starboard
from starboard_client.errors import StarboardError
from starboard_client.models import Trajectory
from starboard_client.output import as_json, number, table
from starboard_client.trajectories import TrajectoryFilters
from starboard_client.verbs import DONE, Verbs, add_json, add_limit, of_run

HEADS = ("ID", "STEP", "SPLIT", "GROUP", "SOLVED", "RETURN", "ADVANTAGE", "TURNS", "TOKENS", "ENDED BY")
NAMES = frozenset(TrajectoryFilters.__annotations__)


def add_trajectories(verbs: Verbs[argparse.ArgumentParser]) -> None:
    listed = of_run(verbs, "trajectories", "list recorded trajectories of a run, newest first")
    listed.add_argument("--search", metavar="WORDS", help="in thoughts and actions: --search='hole \"go left\" slip*'")
    listed.add_argument("--sort", default="-recorded", metavar="COLUMN", help="--sort=return, --sort=-tokens")
    listed.add_argument(
        "--filter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="such as success=0, step=40, kept=dropped, return_low=0.5 or parse=failed; repeatable",
    )
    add_limit(listed, "trajectories")
    add_json(listed)
    listed.set_defaults(do=list_trajectories)


def list_trajectories(args: argparse.Namespace) -> int:
    chosen = cast(TrajectoryFilters, _filters(args.filter) | ({"q": args.search} if args.search else {}))
    with Starboard() as starboard:
        found = list(starboard.trajectories(args.run, sort=args.sort, limit=args.limit, preview=args.json, **chosen))
    if args.json:
        as_json([one.model_dump() for one in found])
    else:
        table(HEADS, [_row(one) for one in found])
    return DONE


def _filters(given: list[str]) -> dict[str, str]:
    """As text: the site reads numbers, and says which values are wrong."""
    pairs = [text.partition("=")[::2] for text in given]
    for name, value in pairs:
        if name not in NAMES or not value:
            raise StarboardError(
                f"{name!r} is no filter with a value. Give NAME=VALUE with {', '.join(sorted(NAMES))}."
            )
    return dict(pairs)


def _row(one: Trajectory) -> tuple[object, ...]:
    group, solved = f"{one.group}.{one.member}", "yes" if one.success else "no"
    values = number(one.episode_return), number(one.advantage)
    return (one.id, one.step, one.split, group, solved, *values, one.turns, one.response_tokens, one.stop)
