"""`python -m engine preflight`: plays problems of an environment several times and writes what RL could learn from it.

The report is written again after each round, so that readers see it grow.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from engine.config import EnvironmentConfig, problems_by_field
from engine.environments.feasibility import action_budget
from engine.errors import ConfigError
from engine.preflight.episodes import Round, problems_of, rounds_of_model, rounds_of_player, shared_with_held_out
from engine.preflight.report import report

HELD_OUT_SEED = 1_000_000_000


def preflight_main(argv: list[str]) -> int:
    options = _parser().parse_args(argv)
    config = _config(options.config)
    if options.memory_mib:
        resource.setrlimit(resource.RLIMIT_DATA, (options.memory_mib << 20, options.memory_mib << 20))
    seeds = range(options.first_seed, options.first_seed + options.problems)
    problems = problems_of(config, seeds)
    shared = shared_with_held_out(config, problems, first_seed=HELD_OUT_SEED)
    final: dict[str, Any] = {}
    for number, played in enumerate(_rounds(config, options, seeds), start=1):
        problems = [
            replace(problem, rollouts=[*problem.rollouts, rollout])
            for problem, rollout in zip(problems, played, strict=True)
        ]
        name = options.model or options.player
        final = report(problems, player=name, rollouts=number, budget=action_budget(config), shared=shared)
        if options.out is not None:
            _write(options.out, {**final, "asked": options.rollouts})
    sys.stdout.write(f"{final['verdict']['text']}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m engine preflight", description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("config", type=Path, help="JSON file with the fields of an environment, such as kind and parameters")
    who = parser.add_mutually_exclusive_group()
    who.add_argument("--player", default="scripted", help="random, scripted, or mixed:<share of random actions>")
    who.add_argument("--model", help="a model directory, or `tiny`")
    add("--problems", type=_positive, default=16, help="training problems")
    add("--rollouts", type=_positive, default=8, help="rollouts of each")
    add("--first-seed", type=int, default=0, help="seed of the first problem")
    add("--temperature", type=float, default=1.0, help="of a model")
    add("--memory-mib", type=int, default=0, help="most memory, in MiB; 0 for no limit")
    add("--out", type=Path, help="file for the report, as JSON")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


def _config(path: Path) -> EnvironmentConfig:
    try:
        return EnvironmentConfig.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", remedy="Give a JSON file.") from None
    except ValidationError as error:
        found = problems_by_field(error, EnvironmentConfig)
        reasons = "; ".join(f"{field}: {reason}" if field else reason for field, reason in found)
        raise ConfigError(f"{path}: {reasons}", remedy="Correct these fields.") from None


def _rounds(config: EnvironmentConfig, options: argparse.Namespace, seeds: range) -> Iterator[Round]:
    if options.model:
        return rounds_of_model(config, options.model, seeds, options.rollouts, temperature=options.temperature)
    return rounds_of_player(config, options.player, seeds, options.rollouts)


def _write(path: Path, content: dict[str, Any]) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    temporary.write_text(json.dumps(content, allow_nan=False), encoding="utf-8")
    temporary.replace(path)
