"""`python -m engine export`: a run's checkpoint as a Hugging Face directory."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from dataclasses import dataclass
from pathlib import Path

from engine.config import RunConfig, read_config
from engine.errors import CheckpointError, ConfigError
from engine.evaluation.checkpoint_model import AVERAGED, MODEL, evaluated_model
from engine.model_export.card import Origin, SuiteResult, card
from engine.model_export.held_out import Results, held_out_results
from engine.model_export.licence import licence_of
from engine.rollout.prompts import Message, first_prompt
from engine.suites.store import ABOUT, SUMMARY
from engine.suites.suite import Suite
from engine.suites.weights import weights_of

log = logging.getLogger(__name__)

DESCRIPTION = """Write a checkpoint of a run as a plain Hugging Face directory: safetensors, configuration, tokenizer,
chat template, and a model card that says where it is from and what it achieved. LoRA adapters are merged."""


@dataclass(frozen=True, slots=True)
class Source:
    """A checkpoint, and the run that it is of."""

    checkpoint: Path
    run: Path
    results: Results
    reason: str = ""  # why this one, if nobody named it

    @property
    def step(self) -> int:
        return int(self.checkpoint.name.removeprefix("step_"))


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m engine export", description=DESCRIPTION, allow_abbrev=False)
    add = parser.add_argument
    add("source", type=Path, help="a run directory, or one of its checkpoints")
    add("out", type=Path, help="the directory to write; it must be new or empty")
    add("--step", type=int, help="of a run directory: the checkpoint (default: the best by held-out success)")
    add(
        "--evaluation",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="a finished evaluation of this checkpoint on a suite (`engine evaluate --suite … --out DIR`), for the "
        "card; may be repeated",
    )
    add(
        "--weights",
        choices=("current", "ema"),
        help="the trained weights, or their moving average (default: those that the run evaluates)",
    )
    add(
        "--dtype", choices=("float32", "bfloat16", "float16"), help="precision of the files (default: the checkpoint's)"
    )
    add("--licence", default="", help="of the base model, such as apache-2.0, if its files do not say")
    return parser


def export_main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    source = find_source(options.source, options.step)

    from engine.model_export.export import export_model

    model = _model_of(source.checkpoint, options.weights)
    averaged = model.name == AVERAGED
    config = read_config(source.run / "config.json")
    evaluated = averaged == (config.evaluation.weights == "ema")
    origin = Origin(
        run=source.run.resolve().name,
        step=source.step,
        config=config,
        averaged=averaged,
        held_out=source.results.get(source.step, []) if evaluated else [],
        suites=[result for directory in options.evaluation for result in suite_results(directory, model)],
        licence=options.licence or licence_of(config.model.versioned_path),
        example=_example(config),
    )
    export_model(model, options.out, card=card(origin), precision=options.dtype)
    sys.stdout.write(f"Step {source.step} of {origin.run}{source.reason}: {options.out}\n")
    return 0


def _model_of(checkpoint: Path, weights: str | None) -> Path:
    if weights is None:
        return evaluated_model(checkpoint)
    model = checkpoint / (AVERAGED if weights == "ema" else MODEL)
    if not model.is_dir():
        raise CheckpointError(
            f"The checkpoint {checkpoint} has no moving average of the weights.",
            remedy="Export the current weights, or train with optimizer.ema_decay.",
        )
    return model


def find_source(path: Path, step: int | None) -> Source:
    """`CheckpointError` if there is no such checkpoint, or it is damaged."""
    is_checkpoint = (path / "manifest.json").is_file()
    run = path.resolve().parent.parent if is_checkpoint else path
    if not (run / "config.json").is_file():
        raise ConfigError(
            f"{path} is neither a run directory nor a checkpoint in one: there is no {run / 'config.json'}.",
            remedy="Give the directory of a run, or one of its checkpoints/step_<n>.",
        )
    if is_checkpoint and step is not None:
        raise ConfigError("--step is for a run directory.", remedy="Leave it out, or give the run directory.")
    results = held_out_results(run / "events.jsonl")
    chosen, reason = (path, "") if is_checkpoint else _chosen(run, step, results)

    from engine.training.checkpoint_folder import is_valid

    if not is_valid(chosen):
        raise CheckpointError(f"The checkpoint {chosen} is damaged.", remedy="Choose another one with --step.")
    return Source(chosen, run, results, reason)


def _chosen(run: Path, step: int | None, results: Results) -> tuple[Path, str]:
    """The given one, or the best by held-out success, or the latest if none was evaluated; and why."""
    from engine.training.checkpoint_folder import checkpoints, step_of
    from engine.training.retention import best_of, success_of

    by_step = {step_of(path): path for path in checkpoints(run / "checkpoints")}
    if not by_step:
        raise CheckpointError(f"{run} has no checkpoint.", remedy="Train it further, or give another run directory.")
    if step is not None and step not in by_step:
        known = ", ".join(map(str, by_step))
        raise CheckpointError(f"{run} has no checkpoint of step {step}.", remedy=f"Choose one of its steps {known}.")
    if step is not None:
        return by_step[step], ""
    best = best_of(by_step, {number: success_of(found) for number, found in results.items()})
    if best is None:
        return by_step[max(by_step)], ", the latest, as none has been evaluated"
    return by_step[best], ", the best by held-out success"


def suite_results(directory: Path, model: Path) -> list[SuiteResult]:
    """`ConfigError` unless the evaluation is finished and of these weights."""
    try:
        about = json.loads((directory / ABOUT).read_text(encoding="utf-8"))
        summary = json.loads((directory / SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{directory} is not a finished evaluation on a suite: {error}.",
            remedy="Give the --out of `engine evaluate --suite`, once all its episodes have been played.",
        ) from None
    if about["weights"] != weights_of(str(model)):
        raise ConfigError(
            f"{directory} is the evaluation of another model, {about['policy']['model']}.",
            remedy=f"Evaluate this one: --model {model.parent}.",
        )
    suite = Suite.model_validate(about["suite"])
    return [
        SuiteResult(
            suite=suite.label,
            item=item["item"],
            problems=item["problems"],
            episodes=item["played"],
            **{name: item[name] for name in ("success", "low", "high", "interval")},
        )
        for item in summary["items"]
    ]


def _example(config: RunConfig) -> list[Message]:
    """Of the first environment; none if that cannot be started here, for want of a server or data."""
    try:
        return first_prompt(config.environments[0], think=config.rollout.think, seed=config.evaluation.first_seed)
    except Exception as error:  # environments are anybody's code
        log.warning("the model card has no example of a prompt: %s", error)
        return []
