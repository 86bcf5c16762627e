"""`python -m engine evaluate`: parses and checks the request, plays it, and reports the results."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

from engine.config import EnvironmentConfig, RunConfig, read_config
from engine.environments.feasibility import require_solvable
from engine.errors import CheckpointError, ConfigError
from engine.evaluation import output
from engine.evaluation.checkpoint_model import evaluated_model
from engine.evaluation.evaluation import Plan, evaluate
from engine.evaluation.models import EndpointModel, EvaluatedModel, LocalModel
from engine.evaluation.recording import checkpoint_step, record, require_recordable
from engine.evaluation.seeds import read_seeds, seed_range

DESCRIPTION = """Play held-out problems with a checkpoint, a local model or an endpoint, and report its success rate.
With --suite NAME, evaluate on a suite: `python -m engine evaluate --suite frozen-lake --help`."""


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m engine evaluate", description=DESCRIPTION, allow_abbrev=False)
    add = parser.add_argument
    add(
        "source",
        type=Path,
        help="a run directory, whose latest checkpoint is evaluated, or a configuration (TOML, JSON)",
    )
    add(
        "--model",
        help="a checkpoint, a Hugging Face directory, or a bundled model; with --endpoint the model's name there",
    )
    add("--endpoint", metavar="URL", help="an OpenAI-compatible server, such as http://127.0.0.1:8000/v1")
    add("--key-env", metavar="NAME", help="environment variable with the endpoint's API key")
    add(
        "--environment",
        action="append",
        default=[],
        metavar="TAG",
        help="evaluate only this environment; may be repeated",
    )
    seeds = parser.add_mutually_exclusive_group()
    seeds.add_argument(
        "--seeds", metavar="FILE|FIRST:COUNT", help="problem seeds: a file with one seed per line, or a range"
    )
    seeds.add_argument("--episodes", type=int, help="number of held-out problems, starting at evaluation.first_seed")
    add("--samples", type=int, default=1, metavar="K", help="episodes per problem; 2 or more give pass@k")
    add(
        "--temperature",
        type=float,
        nargs="+",
        metavar="T",
        help="sampling temperatures; 0 is greedy; each one is evaluated",
    )
    add("--out", type=Path, metavar="DIR", help="directory for results.jsonl, results.parquet and summary.json")
    add("--record", action="store_true", help="add the results to the events of the checkpoint's run")
    add("--concurrency", type=int, default=8, help="concurrent requests to the endpoint")
    add("--timeout", type=float, default=120.0, help="timeout of one request in seconds")
    add("--retries", type=int, default=6, help="retries of a request after a transient failure")
    add("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="override one field")
    return parser


def evaluate_main(argv: list[str]) -> int:
    """Exit status 0 only if every requested episode has a score, or if results have been recorded."""
    options = parser().parse_args(argv)
    config, run_directory = read_source(options.source, options.set)
    plan = plan_of(config, options)
    for environment in plan.environments:
        require_solvable(config.model_copy(update={"environments": [environment]}))
    if options.record:
        require_recordable(plan, config)
    if options.out is not None:
        output.prepare_directory(options.out)
    model_under_test = evaluated_model_of(config, options, run_directory)
    try:
        step = checkpoint_step(model_under_test.name, run_directory) if options.record else None
        outcome = evaluate(config, model_under_test, plan)
    finally:
        model_under_test.close()
    if options.out is not None:
        output.write(outcome, config, options.out)
    sys.stdout.write(output.table(outcome) + "\n")
    if outcome.failure is not None:
        raise outcome.failure
    if step is not None and run_directory is not None:
        record(outcome, step=step, run_directory=Path(run_directory))
    if not outcome.complete:
        reasons = dict.fromkeys(result.error for result in outcome.results if result.error)
        sys.stderr.write("".join(f"error: {reason}\n" for reason in list(reasons)[:5]))
        sys.stderr.write(f"error: {outcome.unscored} of {len(outcome.results)} episodes were not scored.\n")
    return 0 if outcome.complete or step is not None else 1


def read_source(path: Path, overrides: list[str]) -> tuple[RunConfig, str | None]:
    """The configuration, and `path` itself if it is a run directory."""
    if not path.is_dir():
        return read_config(path, overrides), None
    if not (path / "config.json").is_file():
        raise ConfigError(
            f"{path} is not a run directory: it has no config.json.", remedy="Give a run directory, or a TOML file."
        )
    return read_config(path / "config.json", overrides), str(path)


def plan_of(config: RunConfig, options: argparse.Namespace) -> Plan:
    if options.samples < 1:
        raise ConfigError(f"--samples is {options.samples}.", remedy="Give 1 or more.")
    if options.episodes is not None and options.episodes < 1:
        raise ConfigError(f"--episodes is {options.episodes}.", remedy="Give 1 or more.")
    count = options.episodes or config.evaluation.final_episodes
    temperatures: list[float] = options.temperature or [config.evaluation.temperature]
    if wrong := [t for t in temperatures if not (math.isfinite(t) and 0 <= t <= 5)]:
        raise ConfigError(f"--temperature is {wrong[0]}.", remedy="Give 0 (greedy) to 5.")
    return Plan(
        environments=chosen(config, options.environment),
        seeds=read_seeds(options.seeds) if options.seeds else seed_range(config.evaluation.first_seed, count),
        samples=options.samples,
        temperatures=list(dict.fromkeys(temperatures)),
    )


def chosen(config: RunConfig, tags: list[str]) -> list[EnvironmentConfig]:
    by_tag = {environment.tag: environment for environment in config.environments}
    if unknown := [tag for tag in tags if tag not in by_tag]:
        raise ConfigError(
            f"--environment {unknown[0]}: the configuration has no such environment.",
            remedy=f"Its tags are: {', '.join(by_tag)}.",
        )
    return [by_tag[tag] for tag in dict.fromkeys(tags)] or config.environments


def evaluated_model_of(config: RunConfig, options: argparse.Namespace, run_directory: str | None) -> EvaluatedModel:
    if options.endpoint is None:
        if options.key_env is not None:
            raise ConfigError("--key-env is only for an endpoint.", remedy="Give --endpoint URL.")
        given = config.model.adapter if options.model is None and run_directory is None else ""
        adapter = Path(given).expanduser() if given else None
        return LocalModel(config, local_path(config, options.model, run_directory), adapter=adapter)
    if not options.model:
        raise ConfigError("--endpoint needs the model's name.", remedy="Give --model NAME, as the endpoint lists it.")
    if options.concurrency < 1 or options.retries < 0 or not (math.isfinite(options.timeout) and options.timeout > 0):
        raise ConfigError(
            "--concurrency, --retries or --timeout is out of range.",
            remedy="Give a concurrency of 1 or more, 0 or more retries, and a timeout above 0 seconds.",
        )
    from engine.policies.api_key import key_from_environment
    from engine.policies.chat_endpoint import ChatEndpoint, EndpointSettings

    settings = EndpointSettings(
        url=options.endpoint, model=options.model, timeout=options.timeout, retries=options.retries
    )
    endpoint = ChatEndpoint(settings, key_from_environment(options.key_env), concurrency=options.concurrency)
    return EndpointModel(config, endpoint, concurrency=options.concurrency)


def local_path(config: RunConfig, model: str | None, run_directory: str | None) -> str:
    """The model directory: `model` in a checkpoint, or in a run's latest valid checkpoint."""
    from engine.training.checkpoint_folder import is_valid, latest_valid

    if model is None and run_directory is not None:
        found = latest_valid(Path(run_directory) / "checkpoints")
        if found is None:
            raise CheckpointError(
                f"{run_directory} has no valid checkpoint.", remedy="Train it further, or give a --model."
            )
        return str(evaluated_model(found))
    path = model or config.model.versioned_path
    if (Path(path) / "manifest.json").is_file():
        if not is_valid(Path(path)):
            raise CheckpointError(f"The checkpoint {path} is damaged.", remedy="Use another checkpoint of the run.")
        return str(evaluated_model(Path(path)))
    return path
