"""`starboard sweeps …`: its arguments, and what each command does."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from starboard_client.client import Starboard
from starboard_client.errors import StarboardError
from starboard_client.output import as_json, note, number, say, table
from starboard_client.sweep_models import Estimate, Sweep, SweepDetail, SweepPlan
from starboard_client.verbs import (
    DONE,
    FAILED,
    NOT_SUCCEEDED,
    TIMED_OUT,
    Verbs,
    add_json,
    add_limit,
    add_noun,
    add_watching,
    of_number,
)


def add_sweeps(nouns: Verbs[argparse.ArgumentParser]) -> None:
    verbs = add_noun(nouns, "sweeps", "plan, create, list, watch, control and extend sweeps")

    listed = verbs.add_parser("list", help="list sweeps, newest first")
    listed.add_argument("--state", choices=("running", "stopped", "finished"))
    listed.add_argument("--name", help="only sweeps whose name contains this")
    add_limit(listed, "sweeps")
    add_json(listed)
    listed.set_defaults(do=list_sweeps)

    presets = verbs.add_parser("presets", help="list the sweeps that ship")
    add_json(presets)
    presets.set_defaults(do=list_presets)

    planned = verbs.add_parser("plan", help="say what a sweep would train, and how long that would take")
    _add_definition(planned)
    add_json(planned)
    planned.set_defaults(do=plan)

    _add_create(verbs)

    shown = of_number(verbs, "sweep", "show", "show a sweep with the effect of each axis")
    add_json(shown)
    shown.set_defaults(do=show)

    watched = of_number(verbs, "sweep", "watch", "print progress until the sweep has ended")
    add_watching(watched, every=5.0)
    watched.set_defaults(do=watch)

    for action, text in (
        ("stop", "stop a sweep and its runs"),
        ("hold", "launch no more runs of a sweep"),
        ("resume", "resume a sweep"),
    ):
        of_number(verbs, "sweep", action, text).set_defaults(do=control, command=action)

    extended = of_number(verbs, "sweep", "extend", "add training seeds, values or configurations")
    extended.add_argument("--seeds", type=_seeds, default=[], metavar="4-6", help="further training seeds")
    extended.add_argument("--values", action="append", default=[], metavar="AXIS=VALUE,VALUE", help="repeatable")
    extended.add_argument("--points", type=int, help="configurations to draw in total")
    extended.add_argument("--confirm", type=int, help="the number of runs, if they are many")
    extended.add_argument("--key", help="the same key extends once in 24 hours")
    extended.set_defaults(do=extend)


def _add_create(verbs: Verbs[argparse.ArgumentParser]) -> None:
    created = verbs.add_parser("create", help="create a sweep from a TOML or JSON file, or from a sweep that ships")
    _add_definition(created)
    created.add_argument("--name")
    created.add_argument("--retries", type=int, default=1, help="of each run that fails (default: 1)")
    created.add_argument("--priority", choices=("high", "normal", "low"), default="normal")
    created.add_argument("--confirm", type=int, help="the number of runs, if they are many")
    created.add_argument("--key", help="the same key gives the same sweep for 24 hours")
    created.add_argument("--watch", action="store_true", help="print progress until the sweep has ended")
    add_watching(created, every=5.0)
    add_json(created)
    created.set_defaults(do=create)


def _add_definition(one: argparse.ArgumentParser) -> None:
    source = one.add_mutually_exclusive_group(required=True)
    source.add_argument("definition", nargs="?", help="a TOML file, or one that ends in .json")
    source.add_argument("--preset", help="the key of a sweep, as `starboard sweeps presets` lists them")
    one.add_argument("--seeds", type=_seeds, metavar="1-3", help="training seeds in place of those of the file")
    one.add_argument("--at-once", type=int, default=1, help="runs that are queued or live (default: 1)")


def list_sweeps(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        found = list(starboard.sweeps(state=args.state, name=args.name, limit=args.limit))
    if args.json:
        as_json([sweep.model_dump() for sweep in found])
        return DONE
    rows = [
        (sweep.id, sweep.name, sweep.state, f"{sweep.counts.ended}/{sweep.counts.total}", sweep.counts.failed,
         sweep.method, ", ".join(sweep.axes))
        for sweep in found
    ]  # fmt: skip
    table(("ID", "NAME", "STATE", "RUNS", "FAILED", "METHOD", "AXES"), rows)
    return DONE


def list_presets(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        found = starboard.sweep_presets()
    if args.json:
        as_json([one.model_dump() for one in found])
    else:
        table(("KEY", "TITLE", "DESCRIPTION"), [(one.key, one.title, one.description) for one in found])
    return DONE


def plan(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        found = starboard.plan_sweep(**_definition(args), seeds=args.seeds, at_once=args.at_once)
    if args.json:
        as_json(found.model_dump())
    else:
        _say_plan(found, args.at_once)
    return FAILED if found.problems else DONE


def create(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        sweep = starboard.create_sweep(
            **_definition(args), seeds=args.seeds, name=args.name or "", at_once=args.at_once, retries=args.retries,
            priority=args.priority, confirm=args.confirm, key=args.key,
        )  # fmt: skip
        if args.json and not args.watch:
            as_json(sweep.model_dump())
        else:
            note(f"Created {sweep.name}, {sweep.counts.total} runs: {starboard.url}/sweeps/{sweep.id}/")
            say(sweep.id)
        return _watch(starboard, sweep.id, args) if args.watch else DONE


def show(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        sweep = starboard.sweep(args.sweep)
    if args.json:
        as_json(sweep.model_dump())
        return DONE
    say(f"{sweep.name} ({sweep.id})")
    say(_progress(sweep))
    _say_results(sweep)
    say(f"{starboard.url}/sweeps/{sweep.id}/")
    return DONE


def watch(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        return _watch(starboard, args.sweep, args)


def control(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        say(_progress(starboard.control_sweep(args.sweep, args.command)))
    return DONE


def extend(args: argparse.Namespace) -> int:
    values = dict(_more(text) for text in args.values)
    with Starboard() as starboard:
        sweep = starboard.extend_sweep(
            args.sweep, seeds=args.seeds, values=values, points=args.points, confirm=args.confirm, key=args.key
        )
    say(f"{sweep.added} runs added. {_progress(sweep)}")
    return DONE


def _watch(starboard: Starboard, sweep_id: int, args: argparse.Namespace) -> int:
    """0 if every run finished or was pruned, 5 if some ended otherwise, 3 after `--timeout`."""
    for sweep in starboard.watch_sweep(sweep_id, every=args.every, timeout=args.timeout or None):
        note(_progress(sweep))
        if sweep.ended:
            _say_results(starboard.sweep(sweep_id))
            return DONE if sweep.state == "finished" and not sweep.counts.failed else NOT_SUCCEEDED
    note(f"Not ended after {args.timeout:g} s. The sweep goes on.")
    return TIMED_OUT


def _progress(sweep: Sweep) -> str:
    counts = sweep.counts
    parts = [f"{sweep.state}: {counts.ended} of {counts.total} runs ended"]
    for name in ("live", "planned", "pruned", "stopped", "failed"):
        if count := getattr(counts, name):
            parts.append(f"{count} {name}")
    return ", ".join(parts) + (f". {sweep.stopped_because}" if sweep.stopped_because else "")


def _say_results(sweep: SweepDetail) -> None:
    for effect in sweep.effects:
        rows = [(level.label, _interval(level, sweep.measure), level.seeds) for level in effect.levels]
        if rows:
            say(f"\n{effect.axis}: {sweep.measure}")
            table(("VALUE", "MEAN [95%]", "SEEDS"), rows)
    if sweep.best is not None:
        labels = ", ".join(f"{axis} = {label}" for axis, label in sweep.best.labels.items())
        say(f"\nbest of {sweep.best.compared}: {labels or 'the base'}: {_interval(sweep.best.estimate, sweep.measure)}")
    for one in sweep.configurations:
        if one.pruned:
            say(f"pruned: {', '.join(f'{axis} = {label}' for axis, label in one.labels.items())}: {one.pruned}")


def _interval(one: Estimate, measure: str) -> str:
    """The interval of a share is cut at 0 and 1."""
    if one.low is None or one.high is None:
        return number(one.mean)
    low, high = (max(0.0, one.low), min(1.0, one.high)) if measure == "success" else (one.low, one.high)
    return f"{number(one.mean)} [{number(low)}, {number(high)}]"


def _duration(seconds: float) -> str:
    return f"{max(1, round(seconds / 60))} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _say_plan(found: SweepPlan, at_once: int) -> None:
    for problem in found.problems:
        note(f"Problem: {problem}")
    for warning in found.warnings:
        note(f"Warning: {warning}")
    axes = list(found.configurations[0].labels) if found.configurations else []
    table(("#", *axes), [(index, *one.labels.values()) for index, one in enumerate(found.configurations, 1)])
    hours = (
        f"about {_duration(found.engine_seconds)} of engines, {_duration(found.wall_seconds or 0)} with "
        f"{at_once} at once, from {found.earlier_runs} earlier runs"
        if found.engine_seconds is not None
        else "the time is unknown: no earlier run of this environment with this model"
    )
    note(f"{found.runs} runs, {found.steps:,} steps, {found.trajectories:,} trajectories; {hours}.")


def _definition(args: argparse.Namespace) -> dict[str, Any]:
    """A JSON file as a definition; any other as TOML, which the site reads."""
    if args.definition is None:
        return {"preset": args.preset}
    try:
        text = Path(args.definition).read_text()
        return {"definition": json.loads(text)} if args.definition.endswith(".json") else {"toml": text}
    except (OSError, ValueError) as error:
        raise StarboardError(f"{args.definition} cannot be read: {error}.") from None


def _seeds(text: str) -> list[int]:
    """`1-3, 7`."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        try:
            found += range(int(first), int(last if dash else first) + 1)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{part.strip()!r} is not a seed. Write 1-3, or 1, 5, 9.") from None
    return found


def _more(text: str) -> tuple[str, list[Any]]:
    name, equals, raw = text.partition("=")
    if not equals:
        raise StarboardError(f"--values {text!r} has no '='. Write --values axis=value,value.")
    return name.strip(), [_value(part.strip()) for part in raw.split(",") if part.strip()]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
