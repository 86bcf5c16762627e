"""`RunConfig`: everything that decides a run, checked before it starts. No torch here.

The web form, the TOML file and the JSON of a run directory are this one class. Each field says what it
means, in which unit, and what the extremes do: the form shows that text.
"""

from __future__ import annotations

from engine.config.cluster import ClusterConfig
from engine.config.learning import (
    NEVER_NEGATIVE,
    WITH_CRITIC,
    WITHIN_GROUP,
    AlgorithmConfig,
    Estimator,
    FilterConfig,
    LossConfig,
    OptimizerConfig,
)
from engine.config.problems import (
    problems_by_field,
)
from engine.config.reading import (
    apply_override,
    build_config,
    read_config,
)
from engine.config.run import (
    TRAINING_SEED_LIMIT,
    RunConfig,
    group_shares,
)
from engine.config.sampling import (
    EnvironmentConfig,
    LoraSection,
    ModelConfig,
    RolloutConfig,
    StartFromSection,
)
from engine.config.section import (
    Section,
)
from engine.config.watching import (
    CaptureConfig,
    CheckpointConfig,
    DetectorsConfig,
    DiagnosticsConfig,
    EvaluationConfig,
    StopConfig,
)

__all__ = [
    "NEVER_NEGATIVE",
    "TRAINING_SEED_LIMIT",
    "WITHIN_GROUP",
    "WITH_CRITIC",
    "AlgorithmConfig",
    "CaptureConfig",
    "CheckpointConfig",
    "ClusterConfig",
    "DetectorsConfig",
    "DiagnosticsConfig",
    "EnvironmentConfig",
    "Estimator",
    "EvaluationConfig",
    "FilterConfig",
    "LoraSection",
    "LossConfig",
    "ModelConfig",
    "OptimizerConfig",
    "RolloutConfig",
    "RunConfig",
    "Section",
    "StartFromSection",
    "StopConfig",
    "apply_override",
    "build_config",
    "group_shares",
    "problems_by_field",
    "read_config",
]
