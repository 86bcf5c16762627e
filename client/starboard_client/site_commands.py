"""`starboard queue`, `starboard environments …` and `starboard projects …`."""

from __future__ import annotations

import argparse
import json
import time
import tomllib
from pathlib import Path
from typing import Any

from starboard_client.client import Starboard
from starboard_client.errors import StarboardError
from starboard_client.output import as_json, note, say, table
from starboard_client.verbs import DONE, NOT_SUCCEEDED, TIMED_OUT, Verbs, add_json, add_noun, add_watching, of_number

LIVE = ("queued", "running")


def add_site(nouns: Verbs[argparse.ArgumentParser]) -> None:
    queued = nouns.add_parser("queue", help="show which runs have engine slots, and which wait")
    add_json(queued)
    queued.set_defaults(do=show_queue)
    _add_environments(add_noun(nouns, "environments", "list, show, define, edit and pre-flight environments"))
    projects = add_noun(nouns, "projects", "list and create projects")
    listed = projects.add_parser("list", help="list your projects")
    add_json(listed)
    listed.set_defaults(do=list_projects)
    created = projects.add_parser("create", help="create a project, whose admin you are")
    created.add_argument("name")
    created.add_argument("--description", default="")
    created.set_defaults(do=create_project)


def _add_environments(verbs: Verbs[argparse.ArgumentParser]) -> None:
    listed = verbs.add_parser("list", help="list environments by name")
    listed.add_argument("--archived", action="store_true", help="archived ones instead of active ones")
    add_json(listed)
    listed.set_defaults(do=list_environments)
    shown = of_number(verbs, "environment", "show", "print an environment with its versions as JSON")
    shown.set_defaults(do=show_environment)
    created = verbs.add_parser("create", help="define an environment")
    created.add_argument("name")
    created.add_argument("config", metavar="FILE", help="TOML, or JSON if it ends in .json: kind, parameters, budgets")
    created.add_argument("--project", default="")
    created.set_defaults(do=create_environment)
    edited = of_number(verbs, "environment", "edit", "edit an environment; a version that was used stays as it is")
    edited.add_argument("config", metavar="FILE", help="TOML, or JSON if it ends in .json")
    edited.set_defaults(do=edit_environment)
    played = of_number(verbs, "environment", "preflight", "play problems, to see whether there is anything to learn")
    played.add_argument("--player", default="mixed:0.4", help="scripted, mixed:0.4 (default), random, or model")
    played.add_argument("--model", default="", help="of the player `model`")
    played.add_argument("--problems", type=int, default=16)
    played.add_argument("--rollouts", type=int, default=8, help="episodes of each problem")
    add_watching(played)
    played.set_defaults(do=preflight)


def show_queue(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        found = starboard.queue()
    if args.json:
        as_json(found.model_dump())
        return DONE
    rows: list[tuple[object, ...]] = [
        ("running", one.run, one.name, one.priority, f"{one.step}/{one.total_steps}", one.left) for one in found.running
    ]
    rows += [(one.position, one.run, one.name, one.priority, one.waits_for, one.starts) for one in found.waiting]
    table(("POSITION", "ID", "NAME", "PRIORITY", "STEP OR REASON", "TIME"), rows)
    return DONE


def list_environments(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        found = starboard.environments(archived=args.archived)
    if args.json:
        as_json([one.model_dump() for one in found])
    else:
        rows = [(one.id, one.name, one.kind, one.version, one.project or "") for one in found]
        table(("ID", "NAME", "KIND", "VERSION", "PROJECT"), rows)
    return DONE


def show_environment(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        as_json(starboard.environment(args.environment).model_dump())
    return DONE


def create_environment(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        made = starboard.define_environment(args.name, _config(args.config), project=args.project)
        note(f"{starboard.url}/environments/{made.id}/")
        say(made.id)
    return DONE


def edit_environment(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        made = starboard.edit_environment(args.environment, _config(args.config))
    say(f"{made.name}, version {made.version}")
    return DONE


def preflight(args: argparse.Namespace) -> int:
    """Prints the report as JSON; 5 if it did not finish, 3 after `--timeout`."""
    with Starboard() as starboard:
        found = starboard.start_preflight(
            args.environment, player=args.player, model=args.model, problems=args.problems, rollouts=args.rollouts
        )
        until = time.monotonic() + args.timeout if args.timeout else None
        while found.state in LIVE:
            if until is not None and time.monotonic() >= until:
                note(f"Not ended after {args.timeout:g} s. The pre-flight goes on.")
                return TIMED_OUT
            time.sleep(args.every)
            found = starboard.preflight(found.id)
    if found.message:
        note(found.message)
    as_json(found.report)
    return DONE if found.state == "finished" else NOT_SUCCEEDED


def list_projects(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        found = starboard.projects()
    if args.json:
        as_json([one.model_dump() for one in found])
    else:
        table(("NAME", "SLUG", "ROLE", "RUNS"), [(one.name, one.slug, one.role, one.runs) for one in found])
    return DONE


def create_project(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        say(starboard.create_project(args.name, args.description).slug)
    return DONE


def _config(path: str) -> dict[str, Any]:
    try:
        text = Path(path).read_text()
        found: dict[str, Any] = json.loads(text) if path.endswith(".json") else tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise StarboardError(f"{path} cannot be read: {error}.") from None
    return found
