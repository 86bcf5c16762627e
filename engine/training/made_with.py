"""What a checkpoint was made with: settings that decide what its weights are and what they learn from.

A checkpoint of a version that did not write one of them down is taken at its word. What may change between two attempts
at a run, such as its length, its learning rate or its rules, is not among them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.config import EnvironmentConfig, RunConfig
from engine.environments import environment_class
from engine.errors import CheckpointError
from engine.policies.model_paths import model_source

FILE = "made_with.json"
TOLD = 4  # differences that an error names

Settings = dict[str, str | float | None]


def weights_of(config: RunConfig) -> Settings:
    """What decides which tensors a checkpoint has, and what they mean."""
    lora, start = config.model.lora, config.model.start_from
    settings: Settings = {"algorithm.type": config.algorithm.type, "model.lora.rank": lora.rank}
    if lora.rank:
        settings |= {"model.lora.alpha": lora.alpha, "model.lora.targets": lora.targets}
    if start.run:  # its folder may move, and model.path is then that folder
        return settings | {"model.start_from": f"step {start.step} of {start.run}"}
    return settings | {"model.path": config.model.path}


def made_with(config: RunConfig) -> Settings:
    """All that an attempt must have in common with the one that wrote the checkpoint it goes on from."""
    rollout = config.rollout
    settings = weights_of(config) | {
        "seed": config.seed,
        "rollout.think": rollout.think,
        "environments": len(config.environments),
    }
    settings |= {f"rollout.context.{name}": value for name, value in rollout.context.model_dump(mode="json").items()}
    for place, environment in enumerate(config.environments):
        settings |= {f"environments.{place}.{name}": value for name, value in _words(environment).items()}
    return settings


def _words(environment: EnvironmentConfig) -> Settings:
    """Its settings, those of its kind filled in, so that a default that is written out is no difference."""
    data: dict[str, Any] = environment.model_dump(mode="json")
    parameters = environment_class(environment.kind).Config(**data.pop("parameters")).model_dump(mode="json")
    return data | {f"parameters.{name}": value for name, value in parameters.items()}


def refuse_another(path: Path, now: Settings) -> None:
    """`CheckpointError` where the checkpoint at `path` was made with another value of one of `now`."""
    try:
        then: Settings = json.loads((path / FILE).read_text())
    except FileNotFoundError:
        return  # it is from before there was a choice
    other = [name for name in now if name in then and not _same(name, then[name], now[name])]
    if not other:
        return
    told = [f"{name} was {_short(then[name])} and is now {_short(now[name])}" for name in other]
    rest = f"; and {len(told) - TOLD} more" if len(told) > TOLD else ""
    raise CheckpointError(
        f"The checkpoint {path.name} is of another configuration: {'; '.join(told[:TOLD])}{rest}.",
        remedy="Resume with the configuration that the run began with. To go on from these weights with another one, "
        "fork: start a new run with model.start_from.",
    )


def _same(name: str, then: str | float | None, now: str | float | None) -> bool:
    """Two ways to write one folder are the same model."""
    if name != "model.path" or then == now:
        return then == now
    return Path(model_source(str(then))).expanduser().resolve() == Path(model_source(str(now))).expanduser().resolve()


def _short(value: str | float | None) -> str:
    text = str(value) if value != "" else "empty"
    return text if len(text) <= 120 else f"{text[:119]}…"
