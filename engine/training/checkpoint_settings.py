"""The settings a checkpoint was written with: those that decide what its weights are and what they are trained on.

Settings that may change between two attempts at a run, such as its length, its learning rate or its rules, are not
among them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.config import EnvironmentConfig, RunConfig
from engine.environments import environment_class
from engine.errors import CheckpointError
from engine.policies.model_paths import LATEST, model_source
from engine.starting_adapter import given_adapter

FILE = "checkpoint_settings.json"
SHOWN = 4  # differences in an error

Settings = dict[str, str | float | None]


def weight_settings(config: RunConfig) -> Settings:
    """Settings that decide which tensors a checkpoint has, and what they mean."""
    lora, start = config.model.lora, config.model.start_from
    settings: Settings = {"algorithm.type": config.algorithm.type, "model.lora.rank": lora.rank}
    settings["optimizer.moments"] = config.optimizer.moments
    if lora.rank:
        settings |= {"model.lora.alpha": lora.alpha, "model.lora.targets": lora.targets}
    if start.run:  # model.path is then a folder of that run, which may move
        return settings | {"model.start_from": f"step {start.step} of {start.run}"}
    return settings | {
        "model.path": config.model.path,
        "model.revision": config.model.revision,
        "model.adapter": given_adapter(config.model.adapter),
    }


def checkpoint_settings(config: RunConfig) -> Settings:
    """Settings that must be the same when an attempt resumes from a checkpoint."""
    rollout = config.rollout
    settings = weight_settings(config) | {
        "seed": config.seed,
        "rollout.think": rollout.think,
        "environments": len(config.environments),
    }
    settings |= {f"rollout.context.{name}": value for name, value in rollout.context.model_dump(mode="json").items()}
    for index, environment in enumerate(config.environments):
        settings |= {
            f"environments.{index}.{name}": value for name, value in _environment_settings(environment).items()
        }
    return settings


def _environment_settings(environment: EnvironmentConfig) -> Settings:
    """Its settings with the defaults of its kind filled in, so that an explicit default is not a difference. Limits are
    not among them: a run that failed at one continues with another."""
    data: dict[str, Any] = environment.model_dump(mode="json", exclude={"limits"})
    parameters = environment_class(environment.kind).Config(**data.pop("parameters")).model_dump(mode="json")
    return data | {f"parameters.{name}": value for name, value in parameters.items()}


def require_same_settings(path: Path, now: Settings) -> None:
    """`CheckpointError` if the checkpoint at `path` was written with other values of `now`."""
    try:
        then: Settings = json.loads((path / FILE).read_text())
    except FileNotFoundError:
        return  # it is from before there was a choice
    other = [name for name in now if name in then and not _same(name, then[name], now[name])]
    if not other:
        return
    differences = [f"{name} was {_short(then[name])} and is now {_short(now[name])}" for name in other]
    more = f"; and {len(differences) - SHOWN} more" if len(differences) > SHOWN else ""
    raise CheckpointError(
        f"The checkpoint {path.name} has another configuration: {'; '.join(differences[:SHOWN])}{more}.",
        remedy="Resume with the configuration that the run started with. To continue from these weights with another "
        "one, fork: start a new run with model.start_from.",
    )


def _same(name: str, then: str | float | None, now: str | float | None) -> bool:
    """Different spellings of one folder are the same model, and no revision is the branch main."""
    if name == "model.revision":
        return (then or LATEST) == (now or LATEST)
    if name not in ("model.path", "model.adapter") or then == now or not (then and now):
        return then == now
    return Path(model_source(str(then))).expanduser().resolve() == Path(model_source(str(now))).expanduser().resolve()


def _short(value: str | float | None) -> str:
    text = str(value) if value != "" else "empty"
    return text if len(text) <= 120 else f"{text[:119]}…"
