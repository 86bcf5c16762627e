"""What each command does. Each returns its exit status."""

from __future__ import annotations

import argparse
import getpass
import json
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from starboard_client import comparing, sending
from starboard_client.client import Starboard
from starboard_client.credentials import Credentials, save
from starboard_client.errors import StarboardError
from starboard_client.models import Evaluation, Run
from starboard_client.output import as_json, note, number, plain, say, table
from starboard_client.overrides import overrides
from starboard_client.spool import Spool, spool_folder, spools
from starboard_client.verbs import DONE, FAILED, NOT_SUCCEEDED, TIMED_OUT

TEXTS = ("csv", "jsonl")  # formats that a terminal can show
SHOWN = ("rollout/success", "reward/mean", "policy/entropy")


def login(args: argparse.Namespace) -> int:
    url = args.url or input("Address of the site, such as https://starboard.example.org: ").strip()
    asked = "Personal token (from the page API tokens): "
    token = getpass.getpass(asked) if sys.stdin.isatty() else sys.stdin.readline()
    found = Credentials(url=url.rstrip("/"), token=token.strip())
    with Starboard(found.url, found.token) as starboard:
        next(starboard.runs(limit=1), None)  # raises if the token is refused
    path = save(found)
    say(f"Signed in to {found.url}; saved in {path}.")
    return DONE


def list_runs(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        found = list(
            starboard.runs(
                state=args.state,
                project=args.project,
                tag=args.tag,
                name=args.name,
                sort=args.sort,
                archived=args.archived,
                limit=args.limit,
            )
        )
    if args.json:
        as_json([run.model_dump() for run in found])
        return DONE
    heads = ("ID", "NAME", "STATE", "STEP", "SUCCESS", "PROJECT", *([args.sort.removeprefix("-")] if args.sort else []))
    table(heads, [_row(run, sorted_by=args.sort) for run in found])
    return DONE


def _row(run: Run, *, sorted_by: str | None) -> tuple[str, ...]:
    success, value = number(run.metrics.get(SHOWN[0])), run.sort_value
    row = (run.id, run.name, run.label, f"{run.step}/{run.total_steps}", success, run.project)
    return (*row, value if isinstance(value, str) else number(value)) if sorted_by else row


def show(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        run = starboard.run(args.run)
    if args.json:
        as_json(run.model_dump())
        return DONE
    say(f"{run.name} ({run.id})")
    _say_state(run)
    if run.health is not None:
        say(f"verdict   {run.health.title}: {run.health.reason}")
    for name in SHOWN:
        if name in run.metrics:
            say(f"{name:<16} {number(run.metrics[name])}")
    say(f"{starboard.url}/runs/{run.id}/")
    return DONE


def launch(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        run = starboard.launch(
            preset=args.preset or "",
            overrides=overrides(args.set),
            environment=args.environment or "",
            name=args.name or "",
            project=args.project or "",
            tags=args.tag,
            notes=args.notes or "",
            sized_defaults=not args.no_sized_defaults,
            key=args.key,
            **_config(args.config),
        )
        for one in run.sized_defaults:
            note(f"Default for the model's size: {one.field} = {one.value} instead of {one.instead_of}")
        for warning in run.warnings:
            note(f"Warning: {warning}")
        if args.json and not args.watch:
            as_json(run.model_dump())
        else:
            note(f"Launched {run.name}: {starboard.url}/runs/{run.id}/")
            say(run.id)
        return _watch(starboard, run.id, args) if args.watch else DONE


def watch(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        return _watch(starboard, args.run, args)


def control(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        _say_state(starboard.control(args.run, args.command))
    return DONE


def logs(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        piece = starboard.log(args.run)
        sys.stdout.write(plain(piece.text))
        while args.follow:
            ended = starboard.run(args.run).ended
            piece = starboard.log(args.run, after=piece.end)
            sys.stdout.write(plain(piece.text))
            sys.stdout.flush()
            if ended and piece.end >= piece.size:
                break
            if not piece.text:
                time.sleep(args.every)
    return DONE


def export(args: argparse.Namespace) -> int:
    to_file = args.output != "-"
    to_terminal = not to_file and sys.stdout.isatty()
    if to_terminal and args.format not in TEXTS:
        raise StarboardError(f"The format {args.format} is no text for a terminal. Give a file: -o FILE.")
    count = 0
    with Starboard() as starboard, ExitStack() as stack:
        file = stack.enter_context(Path(args.output).open("wb")) if to_file else sys.stdout.buffer
        for part in starboard.export(args.run, args.format):
            count += len(part)
            file.write(plain(part.decode(errors="replace")).encode() if to_terminal else part)
    note(f"{count:,} bytes written.")
    return DONE


def compare(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        runs = [starboard.run(run_id) for run_id in args.runs]
        held_out = comparing.newest_held_out([starboard.held_out(run_id) for run_id in args.runs])
    settings = comparing.differing_settings(runs)
    metrics = comparing.newest_metrics(runs, [name for name in (args.metrics or "").split(",") if name])
    if args.json:
        evaluations = {name: [one and one.model_dump() for one in row] for name, row in held_out.items()}
        found = {"settings": settings, "metrics": metrics, "held_out": evaluations}
        as_json({"runs": [run.model_dump() for run in runs], **found})
        return DONE
    rows: list[list[object]] = [["state", *(run.label for run in runs)]]
    rows += [["step", *(f"{run.step}/{run.total_steps}" for run in runs)]]
    rows += [["verdict", *(run.health.title if run.health else "" for run in runs)]]
    rows += [[f"held-out success, {plain(name)}", *map(_held_out, values)] for name, values in held_out.items()]
    rows += [[name, *map(number, values)] for name, values in metrics.items()]
    rows += [[name, *(json.dumps(value) for value in values)] for name, values in settings.items()]
    table(("", *(plain(run.name) for run in runs)), rows)
    return DONE


def _held_out(one: Evaluation | None) -> str:
    return f"{one.success:.3f} [{one.low:.3f}, {one.high:.3f}] at step {one.step}" if one else ""


def presets(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        found = starboard.presets()
    if args.json:
        as_json([one.model_dump() for one in found])
    else:
        table(("KEY", "TITLE", "DESCRIPTION"), [(one.key, one.title, one.description) for one in found])
    return DONE


def sync(args: argparse.Namespace) -> int:
    """Sends to the site that a run was recorded for, with the token for that site. What one site does not take stays on
    disk, and the others are sent."""
    failed = 0
    for spool in spools(spool_folder()):
        try:
            _send(spool)
        except StarboardError as error:
            failed += 1
            note(f"{spool.run_id or spool.key}: {error} It is kept in {spool.path}.")
            spool.close()
    return FAILED if failed else DONE


def _send(spool: Spool) -> None:
    with Starboard(spool.url) as starboard:
        count, rejected = sending.send(spool, starboard)
        for one in rejected:
            note(f"{spool.run_id}: a line was rejected: {one.reason}")
        sending.end(spool, starboard)
    spool.delete()
    say(f"{spool.run_id}: {count} lines sent.")


def mcp(args: argparse.Namespace) -> int:
    try:
        from starboard_client.mcp_server import server
    except ModuleNotFoundError as error:
        raise StarboardError(f"{error}. Install the extra: pip install 'starboard-client[mcp]'.") from None
    with Starboard() as starboard:
        server(starboard, control=args.allow_control).run("stdio")
    return DONE


def _watch(starboard: Starboard, run_id: str, args: argparse.Namespace) -> int:
    """A line for each step and alert; 0 if the run took all its steps, 5 if it ended otherwise, 3 after `--timeout`."""
    after = starboard.run(run_id).last_seq if args.quiet_past else 0
    for found in starboard.watch(run_id, after=after, every=args.every, timeout=args.timeout or None):
        if isinstance(found, Run):
            if found.ended:
                _say_state(found)
                return DONE if found.succeeded else NOT_SUCCEEDED
        elif line := _line(found):
            note(line)
    note(f"Not ended after {args.timeout:g} s. The run goes on.")
    return TIMED_OUT


def _line(event: dict[str, Any]) -> str:
    if event["kind"] == "step_completed":
        values = [f"{name} {number(event['metrics'][name])}" for name in SHOWN if name in event["metrics"]]
        return "  ".join([f"step {event['step']}", *values])
    if event["kind"] == "alert_raised":
        return f"step {event['step']}  {event['severity']}: {event['message']}"
    return ""


def _say_state(run: Run) -> None:
    say(f"{run.label}, step {run.step} of {run.total_steps}. {run.reason} {run.remedy}".strip())


def _config(path: str | None) -> dict[str, Any]:
    """A JSON file as a configuration; any other as TOML, which the site reads."""
    if path is None:
        return {}
    try:
        text = Path(path).read_text()
        return {"config": json.loads(text)} if path.endswith(".json") else {"toml": text}
    except (OSError, ValueError) as error:
        raise StarboardError(f"{path} cannot be read: {error}.") from None
