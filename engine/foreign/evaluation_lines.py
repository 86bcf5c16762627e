"""A held-out evaluation of a trainer elsewhere, which the verdict and rules on held-out success read."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from engine.events import EvaluationCompleted
from engine.foreign.group_lines import Return
from engine.foreign.refused import Name, checked
from engine.statistics.proportions import wilson

MOST_EPISODES = 10_000_000


class EvaluationLine(BaseModel):
    """Episodes on problems that the run does not train on, each problem played once."""

    model_config = ConfigDict(extra="forbid", strict=True)

    episodes: int = Field(ge=1, le=MOST_EPISODES)
    successes: int = Field(ge=0)
    mean_return: Return
    environment: Name = ""
    temperature: float = Field(default=0.0, ge=0, le=100, allow_inf_nan=False)
    final: bool = False

    @model_validator(mode="after")
    def _no_more_than_all(self) -> EvaluationLine:
        if self.successes > self.episodes:
            raise ValueError(f"{self.successes} successes of {self.episodes} episodes")
        return self


class EvaluationOnly(BaseModel):
    evaluation: EvaluationLine


def read_evaluation(data: dict[str, Any], *, step: int, time: float, environment: str) -> EvaluationCompleted:
    found = checked(EvaluationOnly, {"evaluation": data["evaluation"]}).evaluation
    interval = wilson(found.successes, found.episodes)
    return EvaluationCompleted(
        step=step,
        time=time,
        environment=found.environment or environment,
        episodes=found.episodes,
        successes=found.successes,
        success=found.successes / found.episodes,
        low=interval.low,
        high=interval.high,
        mean_return=found.mean_return,
        first_seed=0,
        temperature=found.temperature,
        seconds=0.0,
        final=found.final,
    )
