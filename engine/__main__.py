"""`python -m engine`: train, evaluate, play, check and more. Exit status 0 only when it did what was asked."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from engine.cpu_threads import wait_politely
from engine.errors import ConfigError, StarboardError

USAGE_ERROR = 2


def main(argv: list[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] not in COMMANDS:
        print(f"usage: python -m engine {{{','.join(COMMANDS)}}} …", file=sys.stderr)  # noqa: T201
        return 0 if arguments[:1] in (["-h"], ["--help"]) else USAGE_ERROR
    wait_politely()
    try:
        return COMMANDS[arguments[0]](arguments[1:])
    except StarboardError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return USAGE_ERROR if isinstance(error, ConfigError) else 1


def train_main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m engine train", description="Run StarPO training.")
    parser.add_argument("config", type=Path, help="a TOML file, or the config.json of a run directory")
    parser.add_argument("--run-dir", type=Path, required=True, help="where events, trajectories and checkpoints go")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="override one field")
    parser.add_argument("--resume", action="store_true", help="go on from the newest good checkpoint")
    parser.add_argument("--quiet", action="store_true", help="print no progress")
    options = parser.parse_args(argv)

    from engine.config import read_config

    config = read_config(options.config, options.set)

    from engine.sinks import print_event
    from engine.training.session import train

    return train(config, options.run_dir, resume=options.resume, sinks=[] if options.quiet else [print_event])


def evaluate_main(argv: list[str]) -> int:
    from engine.evaluation.command import evaluate_main as evaluate

    return evaluate(argv)


def check_main(argv: list[str]) -> int:
    from engine.play import check_env_main

    return check_env_main(argv)


def play_main(argv: list[str]) -> int:
    from engine.play import play_main as play

    return play(argv)


def bench_main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m engine bench", description="Time training steps and their parts.")
    parser.add_argument("config", type=Path, help="a TOML file")
    parser.add_argument("--steps", type=int, default=12, help="steps that count, after a warm-up of 4")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="override one field")
    options = parser.parse_args(argv)

    from engine.config import read_config
    from engine.training.step_benchmark import print_step_times

    return print_step_times(read_config(options.config, options.set), steps=options.steps)


def probe_main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m engine probe", description="Decompose the gradient under a checkpoint; nothing is trained."
    )
    parser.add_argument("run_dir", type=Path, help="a run directory")
    parser.add_argument("--checkpoint", metavar="STEP_N", help="a folder of its checkpoints; default: the newest good")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="override one field")
    options = parser.parse_args(argv)

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
        prog="python -m engine what-if", description="Fork a recorded trajectory at a turn and roll on from there."
    )
    parser.add_argument("request", type=Path, help="a JSON file, as engine.what_if.request describes it")
    parser.add_argument("--out", type=Path, required=True, help="a folder for its events and its trajectory")
    options = parser.parse_args(argv)

    from engine.what_if.command import play_what_if

    return play_what_if(options.request, options.out)


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "train": train_main,
    "evaluate": evaluate_main,
    "play": play_main,
    "check-env": check_main,
    "bench": bench_main,
    "probe": probe_main,
    "assess": assess_main,
    "detect": detect_main,
    "what-if": what_if_main,
}

if __name__ == "__main__":
    sys.exit(main())
