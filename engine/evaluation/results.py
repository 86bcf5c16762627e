"""One row for each requested episode, played or not. An episode without a score is counted, and left out of every
rate."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, fields
from typing import Any, Literal

from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.types import StopReason, Trajectory

Stop = StopReason | Literal["error", "not_played"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """`tokens` were sampled; `prompt_tokens` are counted once for a local model, and once per request for an endpoint.

    None means unknown: `success` and `raw_return` of an episode without a score, token counts that an endpoint does not
    report. `seconds` of a local episode are from its first prompt to its end, in a shared batch; for an endpoint they
    are the time its requests took.
    """

    environment: str
    seed: int
    sample: int
    success: bool | None
    raw_return: float | None
    turns: int
    actions: int
    tokens: int | None
    prompt_tokens: int | None
    parse_failures: int
    stop: Stop
    seconds: float
    model: str
    temperature: float
    error: str = ""
    problem_seed: int = 0  # seed of the problem that was played: `seed`, unless its problem belongs to training
    problem: str = ""  # hash of the problem, 16 hexadecimal digits; empty if the episode did not start
    trained_on: bool | None = None  # whether the run trained on it; None if that is not known

    @property
    def scored(self) -> bool:
        return self.success is not None

    def row(self) -> dict[str, Any]:
        """The row for files, where the return is called `return`."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"return" if name == "raw_return" else name: value for name, value in values.items()}


def result_of(
    trajectory: Trajectory,
    spec: EpisodeSpec,
    *,
    model: str,
    temperature: float,
    stop: Stop,
    tokens: int | None,
    prompt_tokens: int | None,
    seconds: float,
    error: str = "",
    seen: Container[int] | None = None,
) -> Result:
    """A fault, an error, or a first prompt that exceeds the context gives no score, since it is not the model's
    failure. `seen` has the problems that the model was trained on, if they are known."""
    unscored = stop in ("fault", "error", "not_played") or (stop == "context_full" and not trajectory.turns)
    return Result(
        environment=spec.environment.tag,
        seed=spec.seed,
        sample=spec.member,
        success=None if unscored else trajectory.success,
        raw_return=None if unscored else trajectory.raw_return,
        turns=len(trajectory.turns),
        actions=trajectory.actions,
        tokens=tokens,
        prompt_tokens=prompt_tokens,
        parse_failures=sum(not turn.parsed.well_formed for turn in trajectory.turns),
        stop=stop,
        seconds=round(seconds, 6),
        model=model,
        temperature=temperature,
        error=error,
        problem_seed=trajectory.seed,
        problem=f"{trajectory.problem:016x}" if trajectory.problem else "",
        trained_on=trajectory.problem in seen if seen is not None and trajectory.problem else None,
    )


def not_played(spec: EpisodeSpec, *, model: str, temperature: float, error: str) -> Result:
    blank = Trajectory(
        environment=spec.environment.tag, kind=spec.environment.kind, group=spec.group, member=spec.member,
        seed=spec.seed,
    )  # fmt: skip
    return result_of(
        blank, spec, model=model, temperature=temperature, stop="not_played", tokens=0, prompt_tokens=0, seconds=0.0,
        error=error,
    )  # fmt: skip
