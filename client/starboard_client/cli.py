"""`starboard`: the command line.

Exit status: 0 done, and a watched run took all its steps; 1 an error; 2 wrong usage; 3 `--timeout` ran out; 4 the token
is refused; 5 a watched run ended otherwise; 130 Ctrl-C, which leaves runs alone.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from starboard_client import commands
from starboard_client.errors import AuthenticationError, StarboardError
from starboard_client.import_commands import add_imports
from starboard_client.leaderboard_commands import add_leaderboard
from starboard_client.output import note
from starboard_client.run_commands import add_run_changes
from starboard_client.site_commands import add_site
from starboard_client.suite_commands import add_evaluations, add_suites
from starboard_client.sweep_commands import add_sweeps
from starboard_client.trajectory_commands import add_trajectories
from starboard_client.verbs import add_json, add_limit, add_noun, add_output, add_watching, of_run

FAILED, REFUSED, INTERRUPTED = 1, 4, 130


def main(argv: Sequence[str] | None = None) -> int:
    args = parser().parse_args(argv)
    try:
        status: int = args.do(args)
        sys.stdout.flush()
        return status
    except AuthenticationError as error:
        note(error)
        return REFUSED
    except StarboardError as error:
        note(error)
        return FAILED
    except KeyboardInterrupt:
        note("Interrupted. Runs are left as they are.")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of the output has gone, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="starboard", description="Runs of a Starboard site.")
    nouns = root.add_subparsers(required=True, metavar="COMMAND")
    login = nouns.add_parser("login", help="save the address of a site and a personal token")
    login.add_argument("--url", help="the address; asked for if it is left out")
    login.set_defaults(do=commands.login)
    presets = nouns.add_parser("presets", help="list what a run can be launched from")
    presets.add_argument("--json", action="store_true", help="print everything as JSON")
    presets.set_defaults(do=commands.presets)
    sync = nouns.add_parser("sync", help="send metrics that a site did not take while a run was recorded")
    sync.set_defaults(do=commands.sync)
    agents = nouns.add_parser("mcp", help="serve runs to coding agents, over the Model Context Protocol on stdin")
    agents.add_argument("--allow-control", action="store_true", help="also a tool that stops, pauses and resumes runs")
    agents.set_defaults(do=commands.mcp)
    _add_runs(add_noun(nouns, "runs", "list, launch, watch, control, change, fork, export, compare and delete runs"))
    add_sweeps(nouns)
    add_suites(nouns)
    add_evaluations(nouns)
    add_leaderboard(nouns)
    add_imports(nouns)
    add_site(nouns)
    return root


def _add_runs(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    listed = verbs.add_parser("list", help="list runs, newest first")
    listed.add_argument("--state", help="only runs in this state, such as running")
    listed.add_argument("--project", help="only runs of this project")
    listed.add_argument("--tag", help="only runs with this tag")
    listed.add_argument("--name", help="only runs whose name contains this")
    listed.add_argument(
        "--sort",
        metavar="COLUMN",
        help="by a column or metric: --sort=name, --sort=-held_out, --sort=-last:reward/mean",
    )
    listed.add_argument("--archived", action="store_true", help="archived runs instead of active ones")
    add_limit(listed, "runs")
    add_json(listed)
    listed.set_defaults(do=commands.list_runs)

    shown = of_run(verbs, "show", "show a run")
    add_json(shown)
    shown.set_defaults(do=commands.show)

    _add_launch(verbs)

    watched = of_run(verbs, "watch", "print steps and alerts until the run has ended")
    add_watching(watched)
    watched.set_defaults(do=commands.watch, quiet_past=True)

    for action in ("stop", "pause", "resume", "checkpoint", "archive", "start_over"):
        verb = action.replace("_", "-")
        of_run(verbs, verb, f"{verb} a run").set_defaults(do=commands.control, command=action)

    logs = of_run(verbs, "logs", "print the end of the engine's log")
    logs.add_argument("-f", "--follow", action="store_true", help="go on until the run has ended")
    logs.add_argument("--every", type=float, default=2.0, help=argparse.SUPPRESS)
    logs.set_defaults(do=commands.logs)

    exported = of_run(verbs, "export", "download a run in a format of another tool")
    exported.add_argument(
        "--format",
        choices=("csv", "parquet", "trajectories", "tensorboard", "mlflow", "wandb", "jsonl"),
        default="csv",
        help="metrics as CSV (default) or Parquet, trajectories as Parquet, an event file of TensorBoard, a file store "
        "of MLflow and an offline run of W&B as zip files, or events as JSON lines",
    )
    add_output(exported)
    exported.set_defaults(do=commands.export)

    add_trajectories(verbs)
    add_run_changes(verbs)

    compared = verbs.add_parser("compare", help="settings that differ, the newest metrics, and held-out success")
    compared.add_argument("runs", nargs="+", metavar="RUN")
    compared.add_argument("--metrics", help="names, separated by commas")
    add_json(compared)
    compared.set_defaults(do=commands.compare)


def _add_launch(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    launch = verbs.add_parser("launch", help="launch a run from a TOML or JSON file, or from a preset")
    source = launch.add_mutually_exclusive_group(required=True)
    source.add_argument("config", nargs="?", help="a TOML file, or one that ends in .json")
    source.add_argument("--preset", help="the key of a preset, as `starboard presets` lists them")
    launch.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="change a field; repeatable")
    launch.add_argument(
        "--no-sized-defaults",
        action="store_true",
        help="for fields that are not given, use the general defaults instead of those for the model's size",
    )
    launch.add_argument("--environment", help="the name of an environment of the site")
    launch.add_argument("--tag", action="append", default=[], help="repeatable")
    for name in ("name", "project", "notes"):
        launch.add_argument(f"--{name}")
    launch.add_argument("--key", help="the same key gives the same run for 24 hours")
    launch.add_argument("--watch", action="store_true", help="print steps and alerts until the run has ended")
    add_watching(launch)
    add_json(launch)
    launch.set_defaults(do=commands.launch, quiet_past=False)


if __name__ == "__main__":
    sys.exit(main())
