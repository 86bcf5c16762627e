"""`RunConfig`: all sections of a run, and the rules between them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from engine.config.cluster import COLDEST, HOTTEST, ClusterConfig
from engine.config.learning import (
    WITHIN_GROUP,
    AlgorithmConfig,
    FilterConfig,
    LossConfig,
    OptimizerConfig,
)
from engine.config.sampling import (
    EnvironmentConfig,
    ModelConfig,
    RolloutConfig,
)
from engine.config.section import Section
from engine.config.watching import (
    CaptureConfig,
    CheckpointConfig,
    DetectorsConfig,
    DiagnosticsConfig,
    EvaluationConfig,
    StopConfig,
)

TRAINING_SEED_LIMIT = 1_000_000_000


class RunConfig(Section):
    """One run. `RunConfig()` is a good choice: GRPO on FrozenLake with the model that ships."""

    preset: str = Field("custom", max_length=60, description="The preset it started from; a label.")
    description: str = Field("", max_length=2000, description="What this run is for.")
    seed: int = Field(1, ge=0, lt=1_000_000, description="Decides problems, sampling and shuffling.")
    steps: int = Field(60, ge=1, le=1_000_000, description="Training steps.")
    backend: Literal["local", "ray"] = Field(
        "local",
        description="Where it runs. local: this machine, its CPU or one GPU. ray: samplers and learners of their own "
        "on a Ray cluster, or on one that is started here; see the section cluster.",
    )
    threads: int = Field(
        0, ge=0, le=512, description="CPU threads of the engine; 0 takes all cores, or as many as OMP_NUM_THREADS says."
    )
    environments: list[EnvironmentConfig] = Field(
        default_factory=lambda: [EnvironmentConfig.model_validate({})],
        min_length=1,
        max_length=16,
        description="What it trains on. Each may have groups of its own; the others share the rest evenly.",
    )
    model: ModelConfig = ModelConfig()
    rollout: RolloutConfig = RolloutConfig()
    algorithm: AlgorithmConfig = AlgorithmConfig()
    loss: LossConfig = LossConfig()
    filter: FilterConfig = FilterConfig()
    optimizer: OptimizerConfig = OptimizerConfig()
    diagnostics: DiagnosticsConfig = DiagnosticsConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()
    capture: CaptureConfig = CaptureConfig()
    stop: StopConfig = StopConfig()
    detectors: DetectorsConfig = DetectorsConfig()
    cluster: ClusterConfig = ClusterConfig()

    @model_validator(mode="after")
    def _check_across_sections(self) -> RunConfig:
        tags = [e.tag for e in self.environments]
        if len(set(tags)) != len(tags):
            raise ValueError(f"environments: tags must differ, got {', '.join(tags)}. Give each its own tag.")
        group_shares(self.environments, self.rollout.groups)
        if self.algorithm.estimator in WITHIN_GROUP and self.rollout.group_size < 2:
            raise ValueError(
                f"rollout.group_size: groups of one have no signal under {self.algorithm.estimator}. "
                "Use 2 or more, or gae."
            )
        self._check_refill()
        self._check_temperatures()
        if self.steps * self.rollout.groups * (1 + self.rollout.refill) > TRAINING_SEED_LIMIT:
            raise ValueError("steps: so many steps would run out of training seeds. Lower steps or rollout.groups.")
        trajectories = self.rollout.groups * self.rollout.group_size
        if self.optimizer.updates_per_step > trajectories:
            raise ValueError(
                f"optimizer.updates_per_step: a step of {self.rollout.groups} groups of {self.rollout.group_size} has "
                f"{trajectories} trajectories, too few for {self.optimizer.updates_per_step} mini-batches. "
                f"Use {trajectories} or fewer."
            )
        if self.optimizer.schedule != "constant" and self.optimizer.warmup_steps >= self.steps:
            raise ValueError(
                f"optimizer.warmup_steps: {self.optimizer.warmup_steps} of {self.steps} steps leave the "
                f"{self.optimizer.schedule} schedule no step to fall in. Lower it, or use the constant schedule."
            )
        if self.backend == "ray" and self.cluster.learners > 1 and self.diagnostics.gradients_every:
            raise ValueError(
                "diagnostics.gradients_every: a gradient that is sharded over several learners is not taken apart "
                "while training. Set it to 0 and use `python -m engine probe` on a checkpoint, or use one learner."
            )
        for environment in self.environments:
            if environment.max_response_tokens >= self.rollout.max_context_tokens:
                raise ValueError(
                    f"rollout.max_context_tokens: {self.rollout.max_context_tokens} leaves no room for a prompt before "
                    f"a response of up to {environment.max_response_tokens} tokens. Raise it or lower max_response_tokens."
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
                    f"{name}: vLLM samples at 0 and from {COLDEST:g} to {HOTTEST:g}, not at {value:g}. "
                    "Change it, or set cluster.sampler to torch."
                )

    def _check_refill(self) -> None:
        if not self.rollout.refill:
            return
        drops = self.filter.strategy != "none" and self.filter.metric == "reward_variance"
        if not drops or self.filter.include_zero:
            raise ValueError(
                "rollout.refill: the groups that it makes up for would train as well. Set filter.strategy to top_p "
                "with filter.value 1 (drops exactly those), filter.metric to reward_variance, and "
                "filter.include_zero to false."
            )
        if self.rollout.group_size < 2:
            raise ValueError("rollout.refill: groups of one never differ. Use a group_size of 2 or more, or refill 0.")


def group_shares(environments: list[EnvironmentConfig], groups: int) -> list[int]:
    """How many of a step's `groups` each environment has, in order; `ValueError` where they do not come out even."""
    given = sum(environment.groups for environment in environments)
    sharing = sum(not environment.groups for environment in environments)
    rest = groups - given
    if not sharing and rest:
        raise ValueError(
            f"rollout.groups: the environments have {given} groups together and the step has {groups}. "
            f"Set rollout.groups to {given}, or give one environment 0, which takes the rest."
        )
    if sharing and given and rest < sharing:
        raise ValueError(
            f"rollout.groups: of {groups} groups {given} are given to environments with groups of their own, which "
            f"leaves {max(rest, 0)} for {sharing} without. Raise it to {given + sharing} or more."
        )
    if sharing and rest % sharing:
        raise ValueError(
            f"rollout.groups: {rest} groups do not split evenly over {sharing} environments. "
            + (f"Use {given} and a multiple of {sharing}." if given else f"Use a multiple of {sharing}.")
        )
    return [environment.groups or rest // sharing for environment in environments]
