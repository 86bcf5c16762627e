"""`python -m engine evaluate --suite`: plays a suite with a model, and goes on where an earlier session ended."""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from engine.config import problems_by_field
from engine.errors import CheckpointError, ConfigError
from engine.evaluation.checkpoint_model import evaluated_model
from engine.evaluation.models import EndpointModel, EvaluatedModel, LocalModel
from engine.suites.play import play_suite, run_config
from engine.suites.policy import Policy, endpoint_policy, local_policy
from engine.suites.report import table
from engine.suites.resolve import require_held_out, resolve
from engine.suites.sending import send
from engine.suites.shipped import read_draft, shipped_suite
from engine.suites.store import Store
from engine.suites.suite import MOST_SAMPLES, Suite
from engine.suites.summary import SuiteSummary

DESCRIPTION = """Evaluate a model on a suite: fixed held-out problems with fixed settings. Episodes already in --out
are not played again."""


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m engine evaluate", description=DESCRIPTION, allow_abbrev=False)
    add = parser.add_argument
    add("--suite", required=True, metavar="NAME|FILE", help="a suite that ships, a definition (TOML), or one as JSON")
    add(
        "--model",
        required=True,
        help="a run directory, whose latest checkpoint is evaluated, a checkpoint, a Hugging Face directory, or a "
        "bundled model; with --endpoint the model's name there",
    )
    add("--endpoint", metavar="URL", help="an OpenAI-compatible server, such as http://127.0.0.1:8000/v1")
    add("--key-env", metavar="NAME", help="environment variable with the endpoint's API key")
    add("--samples", type=int, metavar="K", help="episodes per problem, in place of the suite's")
    add("--out", type=Path, required=True, metavar="DIR", help="directory for outcomes and trajectories")
    add("--send", metavar="URL", help="send the results to this site, with the token in STARBOARD_TOKEN")
    add("--again", action="store_true", help="send them even if the site has an evaluation of the same inputs")
    add("--batch", type=int, metavar="N", help="episodes that are sampled at once (default: 64)")
    add("--threads", type=int, default=0, metavar="N", help="CPU threads; 0 takes all cores")
    add("--concurrency", type=int, default=8, help="concurrent requests to the endpoint")
    add("--timeout", type=float, default=120.0, help="timeout of one request in seconds")
    add("--retries", type=int, default=6, help="retries of a request after a transient failure")
    return parser


def evaluate_suite_main(argv: list[str]) -> int:
    """Exit status 0 once every episode has been played."""
    options = parser().parse_args(argv)
    _check(options)
    suite = read_suite(options.suite).with_samples(options.samples)
    policy = policy_of(options)
    store = Store(options.out, suite)
    try:
        summary = _play(options, suite, policy, store) if store.missing() else store.end()
    finally:
        store.close()
    sys.stdout.write(table(suite, policy.model, summary) + "\n")
    if options.send:
        address = send(options.out, options.send, again=options.again, samples=options.samples)
        sys.stdout.write(f"Sent: {address}\n")
    return 0


def _play(options: argparse.Namespace, suite: Suite, policy: Policy, store: Store) -> SuiteSummary:
    ended: list[int] = []

    def interrupt(number: int, _: Any) -> None:
        """Ends the session as Ctrl-C does, once: what has been played is stored first."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        ended.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    model = model_under_test(options, policy, suite)
    try:
        return play_suite(suite, model, policy, store)
    finally:
        model.close()
        if ended:  # Python would wait for requests that are in progress
            sys.stderr.write("error: The evaluation was ended. Its episodes so far are kept.\n")
            sys.stderr.flush()
            os._exit(1)


def read_suite(text: str) -> Suite:
    """One that ships, by name, or a file; `ConfigError` if it has training problems."""
    path = Path(text)
    if path.suffix == ".toml":
        return resolve(read_draft(path))
    if path.suffix == ".json":
        suite = _from_json(path)
        require_held_out(suite)
        return suite
    return shipped_suite(text)


def policy_of(options: argparse.Namespace) -> Policy:
    if options.endpoint:
        return endpoint_policy(options.endpoint, options.model)
    return local_policy(model_directory(options.model))


def model_directory(text: str) -> str:
    """The model of a checkpoint, or of a run's latest valid one; anything else as it is."""
    path = Path(text)
    if (path / "manifest.json").is_file():
        from engine.training.checkpoint_folder import is_valid

        if not is_valid(path):
            raise CheckpointError(f"The checkpoint {path} is damaged.", remedy="Use another checkpoint of the run.")
        return str(evaluated_model(path))
    if (path / "checkpoints").is_dir():
        from engine.training.checkpoint_folder import latest_valid

        found = latest_valid(path / "checkpoints")
        if found is None:
            raise CheckpointError(f"{path} has no valid checkpoint.", remedy="Train it further, or name a model.")
        return str(evaluated_model(found))
    return text


def model_under_test(options: argparse.Namespace, policy: Policy, suite: Suite) -> EvaluatedModel:
    config = run_config(suite.items[0], threads=options.threads)
    model: EvaluatedModel
    if not policy.endpoint:
        model = LocalModel(config, policy.model)
    else:
        from engine.policies.api_key import key_from_environment
        from engine.policies.chat_endpoint import ChatEndpoint, EndpointSettings

        settings = EndpointSettings(
            url=policy.endpoint,
            model=policy.model,
            timeout=options.timeout,
            retries=options.retries,
            waits_for_start=True,
        )
        key = key_from_environment(options.key_env)
        endpoint = ChatEndpoint(settings, key, concurrency=options.concurrency)
        model = EndpointModel(config, endpoint, concurrency=options.concurrency)
    if options.batch:
        model.at_once = options.batch
    return model


def _check(options: argparse.Namespace) -> None:
    if options.key_env is not None and not options.endpoint:
        raise ConfigError("--key-env is only for an endpoint.", remedy="Give --endpoint URL.")
    if options.samples is not None and not 1 <= options.samples <= MOST_SAMPLES:
        raise ConfigError(f"--samples is {options.samples}.", remedy=f"Give 1 to {MOST_SAMPLES}.")
    if options.batch is not None and options.batch < 1:
        raise ConfigError(f"--batch is {options.batch}.", remedy="Give 1 or more.")
    if options.concurrency < 1 or options.retries < 0 or not (math.isfinite(options.timeout) and options.timeout > 0):
        raise ConfigError(
            "--concurrency, --retries or --timeout is out of range.",
            remedy="Give a concurrency of 1 or more, 0 or more retries, and a timeout above 0 seconds.",
        )


def _from_json(path: Path) -> Suite:
    try:
        return Suite.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as JSON: {error}", remedy="Correct the file.") from None
    except ValidationError as error:
        wrong = "; ".join(f"{field}: {reason}" for field, reason in problems_by_field(error, Suite))
        raise ConfigError(f"{path} is not a suite: {wrong}", remedy="Correct these fields.") from None
