"""A run before it is launched: what the form says, checked by the engine's own rules, and what it would cost."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from engine.cluster.checks import check_cluster, this_machine
from engine.config import RunConfig, problems_by_field
from engine.environments.feasibility import Feasibility, action_budget, feasibility
from engine.errors import ModelError
from engine.policies.model_paths import check_model_path
from webapp.config_form import nested
from webapp.environments.models import EnvironmentVersion
from webapp.launching.more_environments import Row, configs
from webapp.runs.forks import why_not
from webapp.runs.models import Run


@dataclass(slots=True, kw_only=True)
class Draft:
    """`config` is None while there are `errors` (by dotted field; `environment` is the choice of environment).

    `memory` says in sentences what a run on a cluster needs of it; nothing for one on this machine.
    """

    config: RunConfig | None
    errors: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    memory: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return self.config is not None and not self.errors


def draft(
    values: Mapping[str, str],
    version: EnvironmentVersion | None,
    *,
    preset: str,
    rules: Any = None,
    more: Sequence[Row] = (),
    source: Run | None = None,
) -> Draft:
    """Checks what a form posted: the engine's rules, the model's directory, and whether the budget can do.

    `more` are environments beyond the first, of which some may be those of `source`, the run that is cloned.

    `rules` are its alert rules, as the editor sent them or of what the run is made from; None: a new run's.
    """
    if version is None:
        return Draft(config=None, errors={"environment": "Choose an environment."})
    further, errors = configs(list(more), source)
    if errors:
        return Draft(config=None, errors=errors)
    groups = values.get("environment-groups", "").strip() if more else ""
    data = {
        **nested(values),
        "preset": preset,
        "environments": [{**version.config, "groups": groups or "0"} if more else version.config, *further],
    }
    if rules is not None:
        data["detectors"] = {**data.get("detectors", {}), "rules": rules}
    try:
        config = RunConfig.model_validate(data)
    except ValidationError as error:
        return Draft(config=None, errors=_errors(error))
    made = Draft(config=config)
    try:
        check_model_path(config.model.path)
    except ModelError as error:
        made.errors["model.path"] = str(error)
    if reason := why_not(config):
        made.errors["model.start_from.step"] = reason
    _check_budget(made, config)
    if config.backend == "ray":
        _look_at_cluster(made, config)
    _warn(made, config)
    return made


def _look_at_cluster(made: Draft, config: RunConfig) -> None:
    found = check_cluster(config, this_machine())
    made.errors = {**found.problems, **made.errors}
    made.warnings += found.warnings
    made.memory = found.memory.sentences() if found.memory else [f"Memory cannot be estimated. {found.unknown}"]


def _errors(error: ValidationError) -> dict[str, str]:
    """One reason per field; problems inside an environment belong to its choice."""
    return {_field(name): why for name, why in problems_by_field(error)}


def _field(name: str) -> str:
    section, _, rest = name.partition(".")
    place = rest.partition(".")[0]
    if section != "environments":
        return name
    return f"environments.{place}" if place.isdecimal() and int(place) else "environment"


def _check_budget(made: Draft, config: RunConfig) -> None:
    for place, environment in enumerate(config.environments):
        parameters = json.dumps(environment.parameters, sort_keys=True)
        found = _measure(environment.kind, parameters, action_budget(environment))
        if found.impossible:
            made.errors[_field(f"environments.{place}")] = (
                f"No problem can be solved within the budget. {found.explain()}"
            )
        elif found.unlikely:
            made.warnings.append(f"Many problems do not fit the budget: {found.explain()}")


@lru_cache(maxsize=256)
def _measure(kind: str, parameters: str, budget: int) -> Feasibility:
    return feasibility(kind, json.loads(parameters), budget)


def _warn(made: Draft, config: RunConfig) -> None:
    if config.optimizer.learning_rate >= 1e-3 and config.model.path == "tiny":
        made.warnings.append("At learning rates of 0.001 and above about half of the small model's runs collapse.")
    if config.algorithm.estimator == "gae" and config.optimizer.critic_warmup_steps == 0:
        made.warnings.append(
            "The critic starts untrained; a few critic_warmup_steps spare the policy its first guesses."
        )


def summary(config: RunConfig) -> list[tuple[str, str]]:
    """What a step is made of, and how long it took in past runs."""
    trajectories = config.rollout.groups * config.rollout.group_size
    updates = config.optimizer.updates_per_step * config.optimizer.epochs
    turns = max(environment.max_turns for environment in config.environments)
    sampled = trajectories * turns * max(environment.max_response_tokens for environment in config.environments)
    seconds = _seconds_per_step(config)
    found = [
        ("Trajectories per step", f"{trajectories:,} ({config.rollout.groups} problems × {config.rollout.group_size})"),
        ("Updates per step", f"{updates}"),
        ("Sampled tokens per step", f"at most {sampled:,}"),
        ("Held-out episodes", f"{config.evaluation.episodes:,} ({config.evaluation.final_episodes:,} at the end)"),
    ]
    if seconds is not None:
        found += [
            ("Time per step", f"about {seconds:.1f} s by past runs"),
            ("Whole run", f"about {seconds * config.steps / 60:.0f} min"),
        ]
    return found


def _seconds_per_step(config: RunConfig) -> float | None:
    """Mean over recent runs with the same model and as many trajectories a step."""
    recent = Run.objects.filter(
        step__gt=4,
        config__model__path=config.model.path,
        config__rollout__groups=config.rollout.groups,
        config__rollout__group_size=config.rollout.group_size,
    ).values_list("seconds", "step")[:10]
    rates = [seconds / step for seconds, step in recent]
    return sum(rates) / len(rates) if rates else None
