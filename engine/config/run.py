"""`RunConfig`: all sections of a run, and the rules between them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from engine.algorithms.filters import GroupFilter, NoFilter
from engine.algorithms.variants import Algorithm
from engine.algorithms.variants.grpo import Grpo
from engine.config.cluster import COLDEST, HOTTEST, ClusterConfig
from engine.config.learning import LossConfig, OptimizerConfig
from engine.config.sampling import (
    EnvironmentConfig,
    ModelConfig,
    RolloutConfig,
)
from engine.config.watching import (
    CaptureConfig,
    CheckpointConfig,
    DetectorsConfig,
    DiagnosticsConfig,
    EvaluationConfig,
    StopConfig,
)
from engine.section import Section

TRAINING_SEED_LIMIT = 1_000_000_000


class RunConfig(Section):
    """One run. `RunConfig()` is a good choice: GRPO on FrozenLake with the model that ships."""

    preset: str = Field("custom", max_length=60, description="Name of the preset it started from; a label only.")
    description: str = Field("", max_length=2000, description="What this run is for.")
    seed: int = Field(1, ge=0, lt=1_000_000, description="Seed of problems, sampling and shuffling.")
    steps: int = Field(60, ge=1, le=1_000_000, description="Training steps.")
    backend: Literal["local", "ray"] = Field(
        "local",
        description="Where the run executes. local: one process on this machine, on its CPU or one GPU. ray: separate "
        "samplers and learners on a Ray cluster, or on one started on this machine; see the section cluster.",
    )
    threads: int = Field(
        0, ge=0, le=512, description="CPU threads of the engine; 0: all cores, or the number in OMP_NUM_THREADS."
    )
    environments: list[EnvironmentConfig] = Field(
        default_factory=lambda: [EnvironmentConfig.model_validate({})],
        min_length=1,
        max_length=16,
        description="Environments to train on. Each may have its own number of groups; the others share the rest "
        "evenly.",
    )
    model: ModelConfig = ModelConfig()
    rollout: RolloutConfig = RolloutConfig()
    algorithm: Algorithm = Field(
        Grpo(),
        description="How advantages are computed. Compared within the group, no critic: grpo; dr_grpo (no division by "
        "the standard deviation); rloo (against the other members); reinforce_plus_plus_baseline (whitened over the "
        "batch). reinforce_plus_plus: reward to go, whitened over the batch. remax: against a greedy episode of the "
        "same problem. With a critic: ppo (GAE); bi_level_gae (GAE over turns, then over tokens).",
    )
    loss: LossConfig = LossConfig()
    filter: GroupFilter = Field(
        NoFilter(),
        description="Which groups of a step train. none: all. top_p: those that hold a share of the total score. "
        "top_k: a share of the groups. top_k_absolute: a number of groups. min_p: those close to the best score.",
    )
    optimizer: OptimizerConfig = OptimizerConfig()
    diagnostics: DiagnosticsConfig = DiagnosticsConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()
    capture: CaptureConfig = CaptureConfig()
    stop: StopConfig = StopConfig()
    detectors: DetectorsConfig = DetectorsConfig()
    cluster: ClusterConfig = ClusterConfig()

    @property
    def needs_reference(self) -> bool:
        """Whether a KL penalty, in the loss or in the reward, needs the reference model in memory."""
        return self.loss.kl_coefficient > 0 or self.algorithm.reward_kl > 0

    @property
    def copies_reference(self) -> bool:
        """Whether the reference is a second model. With LoRA it is the policy without its adapter, or with the adapter
        that the run starts from."""
        return self.needs_reference and not self.model.lora.rank

    @property
    def starts_from_adapter(self) -> bool:
        """A fork does not: its run's adapter is merged in the checkpoint."""
        return bool(self.model.adapter) and not self.model.start_from.run

    @model_validator(mode="after")
    def _check_across_sections(self) -> RunConfig:
        tags = [e.tag for e in self.environments]
        if len(set(tags)) != len(tags):
            raise ValueError(f"environments: tags must differ, got {', '.join(tags)}. Give each its own tag.")
        group_shares(self.environments, self.rollout.groups)
        if self.algorithm.within_group and self.rollout.group_size < 2:
            raise ValueError(
                f"rollout.group_size: {self.algorithm.type} compares the members of a group, and a group of 1 has "
                "nothing to compare. Use 2 or more, or another algorithm, such as ppo."
            )
        self._check_refill()
        self._check_temperatures()
        if self.steps * self.rollout.groups * (1 + self.rollout.refill) > TRAINING_SEED_LIMIT:
            raise ValueError("steps: this many steps would run out of training seeds. Lower steps or rollout.groups.")
        trajectories = self.rollout.groups * self.rollout.group_size
        if self.optimizer.updates_per_step > trajectories:
            raise ValueError(
                f"optimizer.updates_per_step: a step of {self.rollout.groups} groups of {self.rollout.group_size} has "
                f"{trajectories} trajectories, too few for {self.optimizer.updates_per_step} mini-batches. "
                f"Use {trajectories} or fewer."
            )
        schedule = self.optimizer.schedule.type
        steps = self.model.start_from.steps_before + self.steps
        if schedule != "constant" and self.optimizer.warmup_steps >= steps:
            raise ValueError(
                f"optimizer.warmup_steps: {self.optimizer.warmup_steps} of {steps} steps leave no step for the "
                f"{schedule} schedule. Lower it, or use the constant schedule."
            )
        if self.optimizer.warmup_steps and self.optimizer.warmup_tokens:
            raise ValueError(
                f"optimizer.warmup_tokens: the warm-up is {self.optimizer.warmup_steps} steps already. Set one of "
                "warmup_steps and warmup_tokens to 0."
            )
        if self.evaluation.weights == "ema" and not self.optimizer.ema_decay:
            raise ValueError(
                "evaluation.weights: ema needs a moving average of the weights. Set optimizer.ema_decay, for example "
                "to 0.99, or use current."
            )
        if self.backend == "ray" and self.cluster.learners > 1 and self.optimizer.moments == "8bit":
            raise ValueError(
                "optimizer.moments: bitsandbytes does not support sharded weights, and there are "
                f"{self.cluster.learners} learners. Use float32, which can be sharded, or one learner."
            )
        if self.backend == "ray" and self.cluster.learners > 1 and self.diagnostics.gradients_every:
            raise ValueError(
                "diagnostics.gradients_every: the gradient decomposition does not run on several learners. Set it to 0 "
                "and run `python -m engine probe` on a checkpoint, or use one learner."
            )
        for environment in self.environments:
            if environment.max_response_tokens >= self.rollout.max_context_tokens:
                raise ValueError(
                    f"rollout.max_context_tokens: {self.rollout.max_context_tokens} leaves no room for a prompt before "
                    f"responses of {environment.max_response_tokens} tokens. Raise it or lower max_response_tokens."
                )
        return self

    def _check_temperatures(self) -> None:
        if self.backend != "ray" or self.cluster.sampler != "vllm":
            return
        for name, value in (
            ("rollout.temperature", self.rollout.temperature),
            ("evaluation.temperature", self.evaluation.temperature),
        ):
            if value and not COLDEST <= value <= HOTTEST:
                raise ValueError(
                    f"{name}: vLLM supports 0 and {COLDEST:g} to {HOTTEST:g}, got {value:g}. "
                    "Change it, or set cluster.sampler to torch."
                )

    def _check_refill(self) -> None:
        if not self.rollout.refill:
            return
        if not self.filter.drops_equal_returns:
            raise ValueError(
                "rollout.refill: it replaces groups with equal returns, but this filter keeps such groups as well. Use "
                "filter.type top_p with value 1 (drops exactly those), metric reward_variance and include_zero off."
            )
        if self.rollout.group_size < 2:
            raise ValueError(
                "rollout.refill: a group of 1 always has equal returns. Use a group_size of 2 or more, or refill 0."
            )


def group_shares(environments: list[EnvironmentConfig], groups: int) -> list[int]:
    """How many of a step's `groups` each environment has, in order; `ValueError` if they cannot be shared out."""
    given = sum(environment.groups for environment in environments)
    sharing = sum(not environment.groups for environment in environments)
    rest = groups - given
    if not sharing and rest:
        raise ValueError(
            f"rollout.groups: the environments have {given} groups in total and the step has {groups}. "
            f"Set rollout.groups to {given}, or one environment's groups to 0, so that it takes the remaining ones."
        )
    if sharing and given and rest < sharing:
        raise ValueError(
            f"rollout.groups: {given} of {groups} groups belong to environments with their own number, which leaves "
            f"{max(rest, 0)} for the {sharing} without. Raise it to {given + sharing} or more."
        )
    if sharing and rest % sharing:
        raise ValueError(
            f"rollout.groups: {rest} groups do not split evenly over {sharing} environments. "
            + (f"Use {given} and a multiple of {sharing}." if given else f"Use a multiple of {sharing}.")
        )
    return [environment.groups or rest // sharing for environment in environments]
