"""`python -m engine`: train, evaluate, play, check and more. Exit status 0 only on success."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from engine.cpu_threads import limit_thread_spinning
from engine.errors import ConfigError, StarboardError
from engine.quick_imports import quick_imports

USAGE_ERROR = 2


def main(argv: list[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] not in COMMANDS:
        print(f"usage: python -m engine {{{','.join(COMMANDS)}}} …", file=sys.stderr)  # noqa: T201
        return 0 if arguments[:1] in (["-h"], ["--help"]) else USAGE_ERROR
    limit_thread_spinning()
    try:
        return COMMANDS[arguments[0]](arguments[1:])
    except StarboardError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return USAGE_ERROR if isinstance(error, ConfigError) else 1


def train_main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m engine train", description="Run StarPO training.")
    parser.add_argument("config", type=Path, help="TOML file, or the config.json of a run directory")
    parser.add_argument(
        "--run-dir", type=Path, required=True, help="directory for events, trajectories and checkpoints"
    )
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="override one field")
    parser.add_argument(
        "--no-sized-defaults",
        action="store_true",
        help="for fields given neither in the file nor by --set, use the general defaults instead of those for the "
        "model's size",
    )
    parser.add_argument("--resume", action="store_true", help="continue from the latest valid checkpoint")
    parser.add_argument(
        "--start-over",
        action="store_true",
        help="with --resume: begin again at step 0 if no checkpoint is good; what was recorded stays",
    )
    parser.add_argument("--quiet", action="store_true", help="print no progress")
    options = parser.parse_args(argv)
    if options.start_over and not options.resume:
        parser.error("--start-over is for a run that is resumed: add --resume")

    from engine.config import build_config, read_data

    data = read_data(options.config, options.set)
    config = build_config(data)
    recorded = options.run_dir / "config.json"
    if options.resume and recorded.is_file() and not options.no_sized_defaults:
        from engine.sized_defaults import as_recorded

        config = build_config(as_recorded(data, read_data(recorded, [])))
    elif not options.no_sized_defaults:
        from engine.sized_defaults import with_sized_defaults

        data, changes = with_sized_defaults(data, config)
        config = build_config(data)
        for change in changes:
            print(f"sized default: {change.field} = {change.after} instead of {change.before}", file=sys.stderr)  # noqa: T201

    with quick_imports():
        from engine.log_format import log_to_standard_error
        from engine.sinks import print_event
        from engine.training.session import train

    log_to_standard_error()
    return train(
        config,
        options.run_dir,
        resume=options.resume,
        start_over=options.start_over,
        sinks=[] if options.quiet else [print_event],
    )


def evaluate_main(argv: list[str]) -> int:
    if any(argument == "--suite" or argument.startswith("--suite=") for argument in argv):
        with quick_imports():
            from engine.suites.command import evaluate_suite_main

        return evaluate_suite_main(argv)

    with quick_imports():
        from engine.evaluation.command import evaluate_main as evaluate

    return evaluate(argv)


def check_main(argv: list[str]) -> int:
    from engine.check_environment import check_env_main

    return check_env_main(argv)


def new_environment_main(argv: list[str]) -> int:
    from engine.environments.scaffold.command import new_environment_main as create

    return create(argv)


def serve_environment_main(argv: list[str]) -> int:
    from engine.environments.remote.server import serve_main

    return serve_main(argv)


def play_main(argv: list[str]) -> int:
    from engine.play import play_main as play

    return play(argv)


def bench_main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m engine bench", description="Time training steps and their phases.")
    parser.add_argument("config", type=Path, help="TOML file")
    parser.add_argument("--steps", type=int, default=12, help="steps to time, after 4 warm-up steps")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="override one field")
    options = parser.parse_args(argv)

    from engine.config import read_config
    from engine.training.step_benchmark import print_step_times

    return print_step_times(read_config(options.config, options.set), steps=options.steps)


def probe_main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m engine probe",
        description="Decompose the gradient of a checkpoint by loss term. Nothing is trained.",
    )
    parser.add_argument("run_dir", type=Path, help="run directory")
    parser.add_argument(
        "--checkpoint", metavar="STEP_N", help="a checkpoint of the run (default: the latest valid one)"
    )
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="override one field")
    options = parser.parse_args(argv)

    with quick_imports():
        from engine.training.probe_command import probe_run

    return probe_run(options.run_dir, chosen=options.checkpoint, overrides=options.set)


def detect_main(argv: list[str]) -> int:
    from engine.diagnostics.replay import detect_main as detect

    return detect(argv)


def assess_main(argv: list[str]) -> int:
    from engine.verdict.command import assess_main as assess

    return assess(argv)


def what_if_main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m engine what-if",
        description="Fork a recorded trajectory at a turn and continue the rollout from there.",
    )
    parser.add_argument("request", type=Path, help="JSON file with the fields of engine.what_if.request")
    parser.add_argument("--out", type=Path, required=True, help="directory for its events and its trajectory")
    options = parser.parse_args(argv)

    with quick_imports():
        from engine.what_if.command import play_what_if

    return play_what_if(options.request, options.out)


def preflight_main(argv: list[str]) -> int:
    with quick_imports():
        from engine.preflight.command import preflight_main as preflight

    return preflight(argv)


def inspect_model_main(argv: list[str]) -> int:
    from engine.inspection.command import inspect_main

    return inspect_main(argv)


def export_main(argv: list[str]) -> int:
    from engine.model_export.command import export_main as export

    return export(argv)


def environment_calls_main(argv: list[str]) -> int:
    from engine.environment_calls.server import serve_main

    return serve_main(argv)


def import_rollouts_main(argv: list[str]) -> int:
    from engine.foreign.import_command import import_main

    return import_main(argv)


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "train": train_main,
    "evaluate": evaluate_main,
    "play": play_main,
    "check-env": check_main,
    "new-environment": new_environment_main,
    "serve-environment": serve_environment_main,
    "bench": bench_main,
    "probe": probe_main,
    "assess": assess_main,
    "detect": detect_main,
    "what-if": what_if_main,
    "environment-calls": environment_calls_main,
    "preflight": preflight_main,
    "inspect-model": inspect_model_main,
    "export": export_main,
    "import-rollouts": import_rollouts_main,
}

if __name__ == "__main__":
    sys.exit(main())
