"""`python -m engine check-env KIND`: checks an environment's contract, then measures it over many seeds.

An environment is someone's code, which may hang. Each of its calls has its own limits, the command a limit for all of
it. If even the thread that watches is blocked, because the environment keeps the interpreter's lock, faulthandler ends
the process with the stack of each thread.
"""

from __future__ import annotations

import faulthandler
import sys
import time

from engine.config import EnvironmentConfig
from engine.environments import make_environment
from engine.environments.checker import CHECKED_SEEDS, check_seeds
from engine.environments.measurements import SEEDS, measure
from engine.environments.watch import Watch
from engine.errors import ConfigError
from engine.play import environment_parser, environment_to_play

USUAL_SECONDS = 600.0
SHARE_OF_CONTRACT = 0.5  # of the time; what is left of it is for measuring
GRACE_SECONDS = 5.0


def check_env_main(argv: list[str]) -> int:
    """Reports violations of the contract, or a pass; then what was measured over many seeds. 0 only for a pass."""
    parser = environment_parser("check-env")
    parser.add_argument("--seconds", type=float, default=USUAL_SECONDS, help="time limit (default: 600)")
    options = parser.parse_args(argv)
    if not options.seconds > 0:
        raise ConfigError(f"--seconds is {options.seconds:g}.", remedy="Give more than 0.")
    config = environment_to_play(options.kind, options.set)
    until = time.monotonic() + options.seconds
    faulthandler.dump_traceback_later(options.seconds + GRACE_SECONDS, exit=True, file=2)
    try:
        passed = _print_contract(config, options.seconds * SHARE_OF_CONTRACT)
        sys.stdout.write("\n".join(["", *_measured(config, until - time.monotonic()), ""]))
    finally:
        faulthandler.cancel_dump_traceback_later()
    return 0 if passed else 1


def _print_contract(config: EnvironmentConfig, seconds: float) -> bool:
    watch = Watch(config.limits, seconds=seconds)
    findings, checked = check_seeds(lambda: make_environment(config.kind, **config.parameters), CHECKED_SEEDS, watch)
    for finding in findings:
        sys.stdout.write(f"{finding.rule}: {finding.detail}\n")
    if not findings:
        sys.stdout.write(f"{config.kind} {_passed(checked, seconds)}\n")
    return checked > 0 and not findings


def _passed(checked: int, seconds: float) -> str:
    if checked == len(CHECKED_SEEDS):
        return "satisfies the contract."
    if not checked:
        return f"is too slow: not one seed was checked within {seconds:g} s. Raise --seconds."
    return f"satisfies the contract on the {checked} of {len(CHECKED_SEEDS)} seeds checked within {seconds:g} s."


def _measured(config: EnvironmentConfig, seconds: float) -> list[str]:
    try:
        found = measure(config, watch=Watch(config.limits, seconds=seconds))
    except (Exception, SystemExit) as error:  # an environment may raise anything
        return [f"Not measured: {type(error).__name__}: {error}"]
    early = [f"Measured {found.seeds} of {SEEDS} seeds before the time ran out."] if found.seeds < SEEDS else []
    return [*early, *found.lines()]
