"""What is sampled: environments, the model, and how many of whose trajectories under which context."""

from __future__ import annotations

from typing import Any

from pydantic import Field, ValidationError, model_validator

from engine.config.problems import problems_by_field
from engine.environments import environment_class
from engine.errors import ConfigError
from engine.rollout.context_windows import ContextWindow, FullContext
from engine.section import Section


class EnvironmentConfig(Section):
    """One environment of a run: its kind and parameters, its words, its budgets."""

    kind: str = Field("frozen_lake", description="Which environment: a kind of the registry.")
    tag: str = Field("", max_length=60, description="Name in metrics and tables; the kind's title when empty.")
    groups: int = Field(
        0,
        ge=0,
        le=4096,
        description="Its problems per step, out of rollout.groups. 0 is an even share of what the others leave.",
    )
    parameters: dict[str, Any] = Field(default_factory=dict, description="The kind's own parameters.")
    instruction: str = Field(
        "", max_length=4000, description="What the model is told to do; the kind's own words when empty."
    )
    max_turns: int = Field(5, ge=1, le=200, description="Responses per trajectory. More reach further and cost more.")
    max_actions_per_turn: int = Field(
        2, ge=1, le=50, description="Actions read from one response; the rest are ignored and counted."
    )
    max_actions: int = Field(10, ge=1, le=2000, description="Actions per trajectory, over all turns.")
    max_response_tokens: int = Field(
        40, ge=4, le=32768, description="Tokens sampled per turn at most. Too few cut responses before their answer."
    )
    format_penalty: float = Field(
        -0.1,
        ge=-100,
        le=0,
        description="Added to the score for each turn whose response is malformed or names an "
        "unknown action. 0 turns it off; the model is never shown it.",
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_from_kind(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        try:
            kind = environment_class(str(data.get("kind", "frozen_lake")))
        except ConfigError as error:
            raise ValueError(str(error)) from None
        filled = {**kind.default_budget, **data}
        filled["tag"] = data.get("tag") or kind.title
        filled["instruction"] = data.get("instruction") or kind.default_instruction
        return filled

    @model_validator(mode="after")
    def _check_parameters(self) -> EnvironmentConfig:
        kind = environment_class(self.kind)
        try:
            kind.Config(**self.parameters)
        except ValidationError as error:
            problems = (f"parameters.{field}: {reason}" for field, reason in problems_by_field(error, kind.Config))
            raise ValueError("; ".join(problems)) from None
        return self


class LoraSection(Section):
    rank: int = Field(
        0,
        ge=0,
        le=1024,
        description="LoRA: rank of the update that is trained in place of the weights. 0 trains all weights; 8 to 64 "
        "are usual. Higher learns more and takes more memory.",
    )
    alpha: float = Field(
        32.0, gt=0, le=10_000, description="LoRA: the update is scaled by alpha / rank. Higher is a larger step."
    )
    targets: str = Field(
        "all-linear",
        pattern=r"^[\w.-]+(\s*,\s*[\w.-]+)*$",
        max_length=500,
        description="LoRA: layers that have an update: all-linear, or names such as q_proj,v_proj.",
    )


class StartFromSection(Section):
    """A checkpoint of another run. Named by the run's directory beside this one's, never by a path."""

    run: str = Field(
        "",
        pattern=r"^([A-Za-z0-9][A-Za-z0-9_-]{0,99})?$",
        description="Fork: the run whose checkpoint's weights this one starts with: its id, which is the name of its "
        "directory beside this run's. Empty starts with the model itself.",
    )
    step: int = Field(0, ge=0, description="Fork: the step of that checkpoint. This run counts its own steps from 0.")
    optimizer: bool = Field(
        True,
        description="Fork: take the optimiser's and critic's state as well, under this run's learning rate and weight "
        "decay. Off, and always with LoRA, whose update is added in and begun anew, they start fresh.",
    )


class ModelConfig(Section):
    path: str = Field(
        "tiny",
        min_length=1,
        max_length=500,
        description="`tiny` (the model that ships), a directory with a Hugging Face language model, or a hub id.",
    )
    lora: LoraSection = LoraSection()
    start_from: StartFromSection = StartFromSection()


class RolloutConfig(Section):
    groups: int = Field(
        16, ge=1, le=4096, description="Different problems per step (P). More make the gradient steadier."
    )
    group_size: int = Field(
        8, ge=1, le=1024, description="Trajectories per problem (G). At 1 group-relative advantages carry no signal."
    )
    temperature: float = Field(1.0, gt=0, le=5, description="Of sampling in training. Lower explores less.")
    context: ContextWindow = Field(
        FullContext(),
        description="What the model sees of earlier turns. full: everything. last_k_turns: the last turns verbatim. "
        "single_turn_summary: a list of states, actions and rewards in one message, without its own responses.",
    )
    max_context_tokens: int = Field(
        1024,
        ge=32,
        le=1_000_000,
        description="Tokens that the model sees at once, its response counted: under the full context the whole "
        "trajectory. A trajectory that would pass it, or the model's own limit if lower, ends and says so.",
    )
    refill: int = Field(
        0,
        ge=0,
        le=20,
        description="Groups whose returns are all equal are followed by groups of fresh problems, and those again, up "
        "to so many times a step (DAPO's dynamic sampling). 0 never; more cost rollout time and fill every update. "
        "Needs a filter that drops the equal ones.",
    )
    environment_workers: int = Field(
        0,
        ge=0,
        le=1024,
        description="Threads that play environments while sampling goes on, for environments that wait on something, "
        "such as a server. 0 plays them in turn, which is fastest for those that only compute. With "
        "cluster.environment_actors, so many in each of these.",
    )
    overlong_buffer: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Share of a response's token limit within which it begins to cost (DAPO's over-long punishment). 0 "
        "never costs; 0.2 leaves the first four fifths free. Keeps responses from being cut before their answer.",
    )
    overlong_penalty: float = Field(
        -1.0,
        ge=-100,
        le=0,
        description="What a response costs that fills its limit; within overlong_buffer it grows to that evenly.",
    )
    think: bool = Field(True, description="Ask for <think>…</think> before the answer.")
