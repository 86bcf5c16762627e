"""`RunConfig`: all settings of a run, checked before it starts. No torch here.

The web form, the TOML file and the JSON of a run directory are this one class. The description of a field says what
it does, its unit, and what its extremes mean; forms show it as help.
"""

from __future__ import annotations

from engine.config.cluster import ClusterConfig
from engine.config.learning import LossConfig, OptimizerConfig
from engine.config.problems import (
    problems_by_field,
)
from engine.config.reading import (
    apply_override,
    build_config,
    read_config,
    read_data,
    set_field,
)
from engine.config.run import (
    TRAINING_SEED_LIMIT,
    RunConfig,
    group_shares,
)
from engine.config.sampling import (
    EnvironmentConfig,
    EnvironmentLimits,
    LoraSection,
    ModelConfig,
    RolloutConfig,
    StartFromSection,
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
    "TRAINING_SEED_LIMIT",
    "CaptureConfig",
    "CheckpointConfig",
    "ClusterConfig",
    "DetectorsConfig",
    "DiagnosticsConfig",
    "EnvironmentConfig",
    "EnvironmentLimits",
    "EvaluationConfig",
    "LoraSection",
    "LossConfig",
    "ModelConfig",
    "OptimizerConfig",
    "RolloutConfig",
    "RunConfig",
    "StartFromSection",
    "StopConfig",
    "apply_override",
    "build_config",
    "group_shares",
    "problems_by_field",
    "read_config",
    "read_data",
    "set_field",
]
