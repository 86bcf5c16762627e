"""Settings of sampling: environments, the model, and the rollout."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from engine.config.problems import problems_by_field
from engine.environments import environment_class
from engine.environments.wrappers import Layer
from engine.errors import ConfigError
from engine.revisions import HUB_ID, REVISION, versioned, without_revision
from engine.rollout.context_windows import ContextWindow, FullContext
from engine.section import Section

PREFILL_TOKENS = 16384  # of prompts that our own sampler reads in one forward pass, or one prompt if that is longer
CACHE_COLUMNS = 128  # by which its key-value cache grows
VLLM_CPU_BLOCK = 32  # tokens; the prefix cache reuses whole blocks, and vLLM's default of 128 is longer than a turn
VLLM_CPU_BATCH = 4096  # tokens of one forward pass


class EnvironmentLimits(Section):
    """What one call of an environment may take. Beyond it the trajectory ends with a fault."""

    construct_seconds: float = Field(
        120.0, gt=0, le=86_400, description="Time limit of the constructor, which may load data, in seconds."
    )
    reset_seconds: float = Field(
        60.0,
        gt=0,
        le=86_400,
        description="Time limit of the start of an episode, in seconds: reset, and the search for a shortest solution.",
    )
    step_seconds: float = Field(60.0, gt=0, le=86_400, description="Time limit of one step, in seconds.")
    close_seconds: float = Field(10.0, gt=0, le=86_400, description="Time limit of close, in seconds.")
    max_observation_characters: int = Field(
        100_000, ge=1, le=100_000_000, description="Most characters of one observation, and of a drawing as JSON."
    )


class EnvironmentConfig(Section):
    """One environment of a run: its kind, parameters, instruction, budgets and limits."""

    kind: str = Field("frozen_lake", description="Kind of environment, from the registry.")
    tag: str = Field("", max_length=60, description="Name in metrics and tables. Blank: the kind's title.")
    groups: int = Field(
        0,
        ge=0,
        le=4096,
        description="Problems per step, out of rollout.groups. 0: an even share of the problems that other "
        "environments leave.",
    )
    parameters: dict[str, Any] = Field(default_factory=dict, description="Parameters of the kind.")
    wrappers: list[Layer] = Field(
        default_factory=list,
        max_length=6,
        description="Layers around the environment, the innermost first: history, reward_shaping, step_penalty, "
        "action_noise, time_limit, action_mask.",
    )
    instruction: str = Field(
        "", max_length=4000, description="Task description in the system prompt. Blank: the kind's own."
    )
    max_turns: int = Field(5, ge=1, le=10_000, description="Turns per trajectory. More reach further and cost more.")
    max_actions_per_turn: int = Field(
        2, ge=1, le=50, description="Actions executed per response. Further ones are surplus."
    )
    max_actions: int = Field(10, ge=1, le=100_000, description="Actions per trajectory, over all turns.")
    max_response_tokens: int = Field(
        40, ge=4, le=32768, description="Token limit of one response. Too low cuts responses before their answer."
    )
    format_penalty: float = Field(
        -0.1,
        ge=-100,
        le=0,
        description="Added to the score for each malformed response or unknown action. The model never sees it. 0 "
        "turns it off.",
    )
    surplus_actions: Literal["mask", "penalty", "ignore"] = Field(
        "mask",
        description="If a response has more than max_actions_per_turn actions, only the first ones are executed. mask: "
        "the model still reads the rest later but is not trained on it. penalty: adds format_penalty. ignore: neither.",
    )
    limits: EnvironmentLimits = Field(
        EnvironmentLimits(), description="Time and size limits of the environment's own code."
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
        limits = data.get("limits", {})
        filled["limits"] = {**kind.default_limits, **limits} if isinstance(limits, dict) else limits
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
        description="Rank of the LoRA adapter. 0 trains all weights; 8 to 64 are usual. Higher learns more and takes "
        "more memory.",
    )
    alpha: float = Field(
        32.0,
        gt=0,
        le=10_000,
        description="LoRA scale: the update is multiplied by alpha / rank. Higher means larger steps.",
    )
    targets: str = Field(
        "all-linear",
        pattern=r"^[\w.-]+(\s*,\s*[\w.-]+)*$",
        max_length=500,
        description="Layers with an adapter: all-linear, or names such as q_proj,v_proj.",
    )


class StartFromSection(Section):
    """A checkpoint of another run, named by the run's directory next to this one's, never by a path."""

    run: str = Field(
        "",
        pattern=r"^([A-Za-z0-9][A-Za-z0-9_-]{0,99})?$",
        description="Fork: id of the run whose checkpoint to start from, which is the name of its directory next to "
        "this run's. Blank: start from the model.",
    )
    step: int = Field(0, ge=0, description="Fork: step of that checkpoint. The fork counts its own steps from 1.")
    steps_before: int = Field(
        0,
        ge=0,
        le=10_000_000,
        description="Fork: steps trained before that checkpoint, by its run and the runs that it was forked from. "
        "Warm-up and schedule of the learning rate continue from there. 0: they start over.",
    )
    optimizer: bool = Field(
        True,
        description="Fork: load the state of optimizer and critic too, under this run's learning rate and weight "
        "decay. Off: start them fresh. LoRA runs always start them fresh, with the old adapter merged into the "
        "weights.",
    )


class ModelConfig(Section):
    path: str = Field(
        "tiny",
        min_length=1,
        max_length=500,
        description="A bundled model: tiny knows FrozenLake, tiny-sokoban Sokoban, tiny-bandit Bandit, "
        "tiny-arithmetic Countdown, word problems and multiple-choice sums, tiny-boards Sudoku and 2048, tiny-cube "
        "Rubik's cube, tiny-rooms Spatial. Or a directory with a Hugging Face causal language model, or a model id on "
        "the Hub.",
    )
    revision: str = Field(
        "",
        max_length=200,
        pattern=rf"^({REVISION})?$",
        description="Branch, tag or commit of a model on the Hub, for its weights, configuration and tokenizer. Blank: "
        "the branch main. A commit never changes; a branch may, between two runs.",
    )
    chat_template: str = Field(
        "",
        max_length=20_000,
        description="Jinja template of a conversation, instead of the tokenizer's own. Base models such as GPT-2 have "
        "none and need one.",
    )
    adapter: str = Field(
        "",
        max_length=500,
        description="Directory with a LoRA adapter of the model in peft's format (adapter_config.json and "
        "adapter_model.safetensors) to start from. With LoRA (rank, alpha and targets equal to the adapter's) the run "
        "trains it further; with rank 0 it is merged, and all weights train.",
    )
    lora: LoraSection = LoraSection()
    start_from: StartFromSection = StartFromSection()

    @model_validator(mode="after")
    def _the_revision_has_its_own_field(self) -> ModelConfig:
        name, revision = without_revision(self.path)
        if revision and HUB_ID.fullmatch(name):
            raise ValueError(
                f"path: {self.path!r} has a revision. Set path to {name!r} and revision to {revision!r}; if it is a "
                f"directory, set path to './{self.path}'."
            )
        return self

    @property
    def versioned_path(self) -> str:
        """The path with the revision, as everything that loads or inspects models takes it."""
        return versioned(self.path, self.revision)


class RolloutConfig(Section):
    groups: int = Field(16, ge=1, le=4096, description="Problems per step (P). More make the gradient less noisy.")
    group_size: int = Field(
        8,
        ge=1,
        le=1024,
        description="Trajectories per problem (G). Algorithms that compare within a group need 2 or more.",
    )
    temperature: float = Field(1.0, gt=0, le=5, description="Sampling temperature in training. Lower explores less.")
    context: ContextWindow = Field(
        FullContext(),
        description="What the model sees of earlier turns. full: everything. last_k_turns: the last turns verbatim. "
        "single_turn_summary: a list of states, actions and rewards in one message, without its own responses. "
        "without_thoughts: every turn, but earlier responses without their thoughts, as templates of reasoning models "
        "show them.",
    )
    max_context_tokens: int = Field(
        1024,
        ge=32,
        le=1_000_000,
        description="Tokens of one context, its response included; under the full context that is the whole "
        "trajectory. A trajectory that would exceed it, or a lower limit of the model, ends and is marked.",
    )
    rows_at_once: int = Field(
        0,
        ge=0,
        le=1_000_000,
        description="Trajectories that one sampler decodes at once, also in evaluations; the others wait until one "
        "ends. Lower saves memory and does not change the result. 0: all; vLLM at most 256.",
    )
    max_trajectory_tokens: int = Field(
        0,
        ge=0,
        le=100_000_000,
        description="Tokens that may be sampled in one trajectory, over all its turns. The response that reaches it is "
        "cut there and marked, and the trajectory ends. 0: no limit.",
    )
    stop_strings: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] = Field(
        (),
        max_length=16,
        description="Texts that end a response, in addition to the end-of-turn token, such as </answer>. They are part "
        "of the response and trained on.",
    )
    refill: int = Field(
        0,
        ge=0,
        le=20,
        description="Dynamic sampling (DAPO): how many times per step groups with equal returns are replaced by "
        "groups of fresh problems. 0 turns it off. Needs a filter that drops groups with equal returns.",
    )
    environment_workers: int = Field(
        0,
        ge=0,
        le=1024,
        description="Threads that run environments while sampling continues, for environments that wait, for example "
        "on a server. 0: one after the other, fastest for environments that only compute. With "
        "cluster.environment_actors: threads per actor.",
    )
    overlong_buffer: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Over-long penalty (DAPO): last share of a response's token limit in which it is penalised. 0 "
        "turns it off; 0.2 leaves the first 80% free.",
    )
    overlong_penalty: float = Field(
        -1.0,
        ge=-100,
        le=0,
        description="Penalty of a response that reaches its token limit. Within overlong_buffer it grows linearly to "
        "that.",
    )
    think: bool = Field(True, description="Ask for <think>…</think> before the answer.")
