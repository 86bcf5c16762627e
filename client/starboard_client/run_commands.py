"""Commands of `starboard runs` that change or repeat one: labels, settings, checkpoints, forks, deletion."""

from __future__ import annotations

import argparse
from pathlib import Path

from starboard_client.client import Starboard
from starboard_client.errors import StarboardError
from starboard_client.models import Launched
from starboard_client.output import as_json, note, number, say, table
from starboard_client.overrides import overrides
from starboard_client.verbs import DONE, FAILED, Verbs, add_json, of_run


def add_run_changes(verbs: Verbs[argparse.ArgumentParser]) -> None:
    labelled = of_run(verbs, "label", "set the project, the tags or the notes of a run")
    labelled.add_argument("--project")
    labelled.add_argument("--tag", action="append", help="repeatable; replaces all tags")
    labelled.add_argument("--no-tags", action="store_true", help="remove all tags")
    labelled.add_argument("--notes")
    labelled.set_defaults(do=label)

    changed = of_run(verbs, "set", "change settings of a live run from its next step on")
    changed.add_argument("settings", nargs="+", metavar="FIELD=VALUE", help="such as optimizer.learning_rate=1e-5")
    changed.set_defaults(do=change_settings)

    alerts = of_run(verbs, "alerts", "list the alerts of a run, newest first, and name problems of its record")
    add_json(alerts)
    alerts.set_defaults(do=list_alerts)

    listed = of_run(verbs, "checkpoints", "list the checkpoints of a run, or download one")
    listed.add_argument("--download", type=int, metavar="STEP", help="that of this step, as a tar archive")
    listed.add_argument("-o", "--output", help="the file; by default RUN-step_STEP.tar")
    add_json(listed)
    listed.set_defaults(do=list_checkpoints)

    evaluated = of_run(verbs, "evaluate", "evaluate a checkpoint on held-out problems of its run")
    evaluated.add_argument("step", type=int)
    evaluated.set_defaults(do=evaluate)

    forked = of_run(verbs, "fork", "launch a run that starts from a checkpoint")
    forked.add_argument("step", type=int)
    forked.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="change a field; repeatable")
    forked.add_argument("--tag", action="append", default=[], help="repeatable")
    for name in ("name", "project", "notes"):
        forked.add_argument(f"--{name}", default="")
    forked.add_argument("--key", help="the same key gives the same run for 24 hours")
    add_json(forked)
    forked.set_defaults(do=fork)

    again = of_run(verbs, "again", "launch a run with the same configuration and seed")
    add_json(again)
    again.set_defaults(do=run_again)

    moved = of_run(verbs, "move", "move a queued run to a position in the queue, from 1")
    moved.add_argument("position", type=int)
    moved.set_defaults(do=move)

    deleted = of_run(verbs, "delete", "say what deleting a run would free; with --yes, delete it")
    deleted.add_argument("--yes", action="store_true", help="delete it: rows and files, which cannot be restored")
    deleted.set_defaults(do=delete)


def label(args: argparse.Namespace) -> int:
    tags = [] if args.no_tags else args.tag
    if args.project is None and tags is None and args.notes is None:
        raise StarboardError("Nothing to set. Give --project, --tag, --no-tags or --notes.")
    with Starboard() as starboard:
        run = starboard.label(args.run, project=args.project, tags=tags, notes=args.notes)
    say(f"{run.name}: project {run.project}, tags {', '.join(run.tags) or 'none'}")
    return DONE


def change_settings(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        changes = starboard.change_settings(args.run, overrides(args.settings))
    table(("FIELD", "OLD", "NEW"), [(name, one["old"], one["new"]) for name, one in changes.items()])
    return DONE


def list_alerts(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        found = starboard.alerts(args.run)
        for problem in starboard.record_problems(args.run):
            note(f"Problem of the record, at byte {problem.offset}: {problem.reason}")
    if args.json:
        as_json([one.model_dump() for one in found])
    else:
        rows = [(one.step, one.severity, one.rule, number(one.value), one.message) for one in found]
        table(("STEP", "SEVERITY", "RULE", "VALUE", "MESSAGE"), rows)
    return DONE


def list_checkpoints(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        if args.download is not None:
            file = Path(args.output or f"{args.run}-step_{args.download}.tar")
            parts = starboard.download_checkpoint(args.run, args.download)
            first = next(parts, b"")  # raises before the file is made
            with file.open("wb") as opened:
                opened.write(first)
                opened.writelines(parts)
            note(f"{file}: {file.stat().st_size:,} bytes written.")
            return DONE
        found = starboard.checkpoints(args.run)
    if args.json:
        as_json([one.model_dump() for one in found])
    else:
        table(("STEP", "BYTES", "SAVED BY"), [(one.step, one.bytes, one.reason) for one in found])
    return DONE


def evaluate(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        starboard.evaluate_checkpoint(args.run, args.step)
        say(f"The evaluation of step {args.step} is queued: {starboard.url}/runs/{args.run}/")
    return DONE


def fork(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        made = starboard.fork(
            args.run,
            args.step,
            overrides=overrides(args.set),
            name=args.name,
            project=args.project,
            tags=args.tag,
            notes=args.notes,
            key=args.key,
        )
        return _say_launched(starboard, made, args)


def run_again(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        return _say_launched(starboard, starboard.run_again(args.run), args)


def move(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        starboard.move_run(args.run, args.position)
    return DONE


def delete(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        freed = starboard.delete_run(args.run, confirm=args.yes)
    if freed.deleted:
        say(f"Deleted. {freed.freed_bytes:,} bytes are free.")
        return DONE
    note(
        f"Nothing was deleted. --yes frees {freed.freed_bytes:,} bytes; {freed.forks} forks keep what they start from."
    )
    return FAILED


def _say_launched(starboard: Starboard, made: Launched, args: argparse.Namespace) -> int:
    for warning in made.warnings:
        note(f"Warning: {warning}")
    if args.json:
        as_json(made.model_dump())
    else:
        note(f"Launched {made.name}: {starboard.url}/runs/{made.id}/")
        say(made.id)
    return DONE
