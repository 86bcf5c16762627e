"""`starboard imports …`."""

from __future__ import annotations

import argparse
from pathlib import Path

from starboard_client.client import Starboard
from starboard_client.errors import StarboardError
from starboard_client.import_models import Import
from starboard_client.output import as_json, note, say, table
from starboard_client.verbs import (
    DONE,
    NOT_SUCCEEDED,
    TIMED_OUT,
    Verbs,
    add_json,
    add_limit,
    add_noun,
    add_watching,
    of_number,
)


def add_imports(nouns: Verbs[argparse.ArgumentParser]) -> None:
    verbs = add_noun(nouns, "imports", "upload rollouts of other trainers, and list, show, watch and stop imports")

    created = verbs.add_parser("create", help="upload a file of rollouts, JSON Lines of RAGEN or verl")
    created.add_argument("file", metavar="FILE")
    created.add_argument("--split", choices=("train", "validation"), help="of rollouts that do not state theirs")
    for name in ("name", "project"):
        created.add_argument(f"--{name}", default="")
    created.add_argument("--key", help="the same key gives the same import for 24 hours")
    created.add_argument("--watch", action="store_true", help="print progress until it has ended")
    add_watching(created)
    add_json(created)
    created.set_defaults(do=create)

    listed = verbs.add_parser("list", help="list imports, newest first")
    listed.add_argument("--state", help="only those in this state, such as running")
    add_limit(listed, "imports")
    add_json(listed)
    listed.set_defaults(do=list_imports)

    shown = of_number(verbs, "import", "show", "show an import with the lines that were rejected")
    add_json(shown)
    shown.set_defaults(do=show)
    watched = of_number(verbs, "import", "watch", "print progress until the import has ended")
    add_watching(watched)
    watched.set_defaults(do=watch)
    of_number(verbs, "import", "stop", "stop an import; nothing of it is kept").set_defaults(do=stop)


def create(args: argparse.Namespace) -> int:
    if not Path(args.file).is_file():
        raise StarboardError(f"There is no file {args.file}. Give JSON Lines, one rollout on each line.")
    with Starboard() as starboard:
        found = starboard.import_rollouts(
            args.file, name=args.name, split=args.split or "", project=args.project, key=args.key
        )
        if args.json:
            as_json(found.model_dump())
        else:
            say(found.id)
            note(f"{starboard.url}/imports/{found.id}/")
        return _watch(starboard, found.id, args) if args.watch else DONE


def list_imports(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        found = list(starboard.imports(state=args.state, limit=args.limit))
    if args.json:
        as_json([one.model_dump() for one in found])
    else:
        rows = [(one.id, one.name, one.state, one.accepted, one.rejected, one.run or "") for one in found]
        table(("ID", "NAME", "STATE", "ACCEPTED", "REJECTED", "RUN"), rows)
    return DONE


def show(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        found = starboard.import_at(_number(args))
    if args.json:
        as_json(found.model_dump())
        return DONE
    say(_progress(found))
    _say_rejected(found)
    return DONE


def watch(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        return _watch(starboard, _number(args), args)


def stop(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        say(_progress(starboard.stop_import(_number(args))))
    return DONE


def _number(args: argparse.Namespace) -> int:
    number: int = getattr(args, "import")
    return number


def _watch(starboard: Starboard, import_id: int, args: argparse.Namespace) -> int:
    """0 if it finished, 5 if it ended otherwise, 3 after `--timeout`."""
    for found in starboard.watch_import(import_id, every=args.every, timeout=args.timeout or None):
        note(_progress(found))
        if found.ended:
            _say_rejected(found)
            return DONE if found.state == "finished" else NOT_SUCCEEDED
    note(f"Not ended after {args.timeout:g} s. The import goes on.")
    return TIMED_OUT


def _progress(found: Import) -> str:
    parts = [
        f"{found.state}: {found.read} of {found.lines} lines read",
        f"{found.accepted} accepted, {found.rejected} rejected",
        f"run {found.run}" if found.run else "",
        found.message,
    ]
    return ", ".join(part for part in parts if part)


def _say_rejected(found: Import) -> None:
    if found.rejected_lines:
        table(("FILE", "LINE", "REASON"), [(one.file, one.line, one.reason) for one in found.rejected_lines])
