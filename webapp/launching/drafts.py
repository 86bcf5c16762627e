"""A run before launch: its form validated by the engine's own rules, with warnings and estimates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from django.conf import settings
from pydantic import ValidationError

from engine.cluster.checks import check_machine, this_machine
from engine.config import RunConfig, problems_by_field
from engine.errors import ModelError
from engine.policies.model_paths import BUNDLED, check_revision
from webapp.environments.measuring import measured_feasibility
from webapp.environments.model_access import check_adapter_access, check_model, may_be_named
from webapp.environments.models import EnvironmentVersion
from webapp.forms.run_config import nested
from webapp.launching.more_environments import Row, configs
from webapp.launching.sized import RESPONSE_TOKENS, with_response_tokens
from webapp.runs.forks import why_not
from webapp.runs.models import Run
from webapp.runs.usage import usage

MANY_TRAJECTORIES = 8192  # per step
MANY_EPISODES = 4096  # per evaluation


@dataclass(slots=True, kw_only=True)
class Draft:
    """`config` is None if a field is invalid. `errors` are by dotted field; `environment` is the environment's select.

    `memory` describes the memory that the run needs.
    """

    config: RunConfig | None
    errors: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    memory: list[str] = field(default_factory=list)

    @property
    def valid(self) -> bool:
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
    """Validates a posted form: the engine's rules, the model's directory, and whether problems fit the action budget.

    `more` are the environments after the first; some may be those of `source`, the cloned run. `rules` are the alert
    rules from the editor or from the run or preset that the form started from; None means the default rules.
    """
    if version is None:
        return Draft(config=None, errors={"environment": "Choose an environment."})
    further, errors = configs(list(more), source)
    if errors:
        return Draft(config=None, errors=errors)
    groups = values.get("environment-groups", "").strip() if more else ""
    environments = [{**version.config, "groups": groups or "0"} if more else version.config, *further]
    response = values.get(RESPONSE_TOKENS, "")
    data = {
        **nested(values),
        "preset": preset,
        "environments": [with_response_tokens(one, response) for one in environments],
    }
    if rules is not None:
        data["detectors"] = {**data.get("detectors", {}), "rules": rules}
    return check(data, _field)


def check(data: Mapping[str, Any], field_of: Callable[[str], str] = str) -> Draft:
    """A configuration as the engine, this machine and its environments judge it. `field_of` names fields in errors."""
    try:
        config = RunConfig.model_validate(data)
    except ValidationError as error:
        return Draft(config=None, errors={field_of(name): why for name, why in problems_by_field(error, RunConfig)})
    return checked(config, field_of)


def checked(config: RunConfig, field_of: Callable[[str], str] = str) -> Draft:
    """What the model's directory, the checkpoint of a fork, the action budget and the machine say of a valid
    configuration."""
    made = Draft(config=config)
    try:
        check_model(config.model.path)
    except ModelError as error:
        made.errors["model.path"] = str(error)
    else:
        _check_revision(made, config)
    if reason := why_not(config):
        made.errors["model.start_from.step"] = reason
    _check_budget(made, config, field_of)
    _check_adapter_access(made, config)
    # the memory is that of the model's files, and its adapter is read too
    if "model.adapter" not in made.errors and may_be_named(config.model.path):
        _check_machine(made, config)
    _warn(made, config)
    return made


def _check_adapter_access(made: Draft, config: RunConfig) -> None:
    if not config.model.adapter or config.model.start_from.run:  # a fork's is in its checkpoint
        return
    try:
        check_adapter_access(config.model.adapter)
    except ModelError as error:
        made.errors["model.adapter"] = str(error)


def _check_revision(made: Draft, config: RunConfig) -> None:
    try:
        check_revision(config.model.path, config.model.revision)
    except ModelError as error:
        made.errors["model.revision"] = str(error)


def _check_machine(made: Draft, config: RunConfig) -> None:
    found = check_machine(config, this_machine())
    made.errors = {**found.problems, **made.errors}
    made.warnings += found.warnings
    made.memory = found.memory.sentences() if found.memory else [f"Memory could not be estimated. {found.unknown}"]


def _field(name: str) -> str:
    """As the form has it: errors inside an environment are shown at its select."""
    section, _, rest = name.partition(".")
    index = rest.partition(".")[0]
    if section != "environments":
        return name
    if rest.endswith(".max_response_tokens"):
        return RESPONSE_TOKENS
    return f"environments.{index}" if index.isdecimal() and int(index) else "environment"


def _check_budget(made: Draft, config: RunConfig, field_of: Callable[[str], str]) -> None:
    for index, environment in enumerate(config.environments):
        found = measured_feasibility(environment)
        if found is None:  # the engine checks it again when the run starts
            continue
        if found.impossible:
            made.errors[field_of(f"environments.{index}")] = (
                f"No problem can be solved within the action budget. {found.explain()}"
            )
        elif found.unlikely:
            made.warnings.append(f"Many problems cannot be solved within the action budget. {found.explain()}")


def _warn(made: Draft, config: RunConfig) -> None:
    highest = config.optimizer.learning_rate * max(1.0, config.optimizer.schedule.share(1.0))
    if highest >= 1e-3 and config.model.path in BUNDLED and not config.model.lora.rank:
        made.warnings.append(
            "With a learning rate of 0.001 many runs of a small model lose success; with 0.002 nearly all do."
        )
    _warn_of_size(made, config)
    critic = config.algorithm.critic_settings
    if critic is not None and critic.warmup_steps == 0:
        made.warnings.append("The critic starts untrained. Set its warmup_steps to train it before the policy.")
    context = config.rollout.max_context_tokens
    for environment in config.environments if config.rollout.context.type == "full" else []:
        responses = environment.max_turns * environment.max_response_tokens
        if responses > context:
            made.warnings.append(
                f"{environment.tag}: {environment.max_turns} turns of up to {environment.max_response_tokens} tokens "
                f"may take {responses:,} tokens without their prompts, and the context has {context:,}. Episodes that "
                "fill it end early. Raise max context tokens, or choose a context window that leaves out old turns."
            )


def _warn_of_size(made: Draft, config: RunConfig) -> None:
    """What is legal and more than any run here is known to need."""
    trajectories = config.rollout.groups * config.rollout.group_size
    if trajectories > MANY_TRAJECTORIES:
        turns = max(environment.max_turns for environment in config.environments)
        tokens = trajectories * turns * max(environment.max_response_tokens for environment in config.environments)
        made.warnings.append(
            f"{config.rollout.groups:,} groups of {config.rollout.group_size:,} are {trajectories:,} trajectories and "
            f"up to {tokens:,} sampled tokens in each step. RAGEN's default is 128."
        )
    if config.evaluation.every and config.evaluation.episodes > MANY_EPISODES:
        evaluations = config.steps // config.evaluation.every
        made.warnings.append(
            f"{evaluations:,} evaluations of {config.evaluation.episodes:,} episodes are "
            f"{evaluations * config.evaluation.episodes:,} held-out episodes."
        )


def summary(config: RunConfig) -> list[tuple[str, str]]:
    """The size of a step, and its duration in earlier runs of the same kind; the cost too, if prices are configured."""
    trajectories = config.rollout.groups * config.rollout.group_size
    updates = config.optimizer.updates_per_step * config.optimizer.epochs
    turns = max(environment.max_turns for environment in config.environments)
    sampled = trajectories * turns * max(environment.max_response_tokens for environment in config.environments)
    similar = _similar_runs(config)
    found = [
        ("Trajectories per step", f"{trajectories:,} ({config.rollout.groups} problems × {config.rollout.group_size})"),
        ("Updates per step", f"{updates}"),
        ("Sampled tokens per step", f"up to {sampled:,}"),
        ("Held-out episodes", f"{config.evaluation.episodes:,} ({config.evaluation.final_episodes:,} at the end)"),
    ]
    if similar:
        seconds = fmean(run.seconds / run.step for run in similar)
        found += [
            ("Time per step", f"about {seconds:.1f} s, from earlier runs"),
            ("Total time", f"about {seconds * config.steps / 60:.0f} min"),
        ]
        cost = usage(similar[0])["cost"]
        if cost is not None:
            found.append(("Cost", f"about {cost / similar[0].step * config.steps:.2f} {settings.CURRENCY}"))
    return found


def _similar_runs(config: RunConfig) -> list[Run]:
    """The newest with the same model and the same number of trajectories per step."""
    found = Run.objects.filter(
        step__gt=4,
        config__model__path=config.model.path,
        config__rollout__groups=config.rollout.groups,
        config__rollout__group_size=config.rollout.group_size,
    )
    return list(found[:10])
