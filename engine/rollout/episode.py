"""Episode: one environment stepped with parsed responses, within its budgets, with penalties and faults.

It decides when an episode is over and why. Its inputs and results are plain data that can be sent, so it may run in
another thread or on another machine than the one that keeps its transcript. It knows no tokens.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from engine.environments import environment_of
from engine.environments.base import UNKNOWN, Action, Drawing, Environment
from engine.environments.problems import reset_in_split
from engine.errors import EnvironmentFault
from engine.rollout import prompts
from engine.rollout.action_parser import ParsedResponse
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.types import Frame, StopReason


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeStart:
    """The first state of an episode; with a `fault` it has ended too. `system` is the system prompt, and
    `optimal_length` the least number of actions to success, None if unknown. `seed` is the one of its problem, which
    differs from that of its spec where that problem belongs to the other split, and `problem` the problem's hash."""

    observation: str = ""
    drawing: Drawing = field(default_factory=dict)
    optimal_length: int | None = None
    system: str = ""
    separator: str | None = "||"
    seed: int = 0
    problem: int = 0
    fault: EnvironmentFault | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOutcome:
    """The effect of one response, and the state after it."""

    parsed: ParsedResponse
    executed: list[str] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    reward: float = 0.0
    penalty: float = 0.0
    valid: bool = False
    info: dict[str, Any] = field(default_factory=dict)
    stop: StopReason | None = None  # None while the episode continues
    observation: str = ""
    actions_left: int = 0
    success: bool = False  # at any time so far
    fault: EnvironmentFault | None = None

    @classmethod
    def of_fault(cls, parsed: ParsedResponse, fault: EnvironmentFault) -> TurnOutcome:
        """A response whose turn failed."""
        return cls(parsed=parsed, stop="fault", fault=fault)


class Episode:
    """One environment being played within its budgets."""

    def __init__(self, spec: EpisodeSpec) -> None:
        self.spec = spec
        self.config = spec.environment
        self.turns = 0
        self.actions = 0
        self.success = False
        self.environment: Environment = environment_of(self.config)
        self.observation = ""
        self.seed = spec.seed
        self.problem = 0

    def start(self, *, think: bool) -> EpisodeStart:
        """Resets the environment; `think` selects the system prompt. An `EnvironmentFault` is part of the result."""
        start = EpisodeStart()
        try:
            observation = self.reset()
            start = EpisodeStart(
                observation=observation,
                seed=self.seed,
                problem=self.problem,
                separator=self.environment.separator,
            )
            with self.guarded("drawing, solution or describe"):
                start = replace(start, drawing=self.environment.drawing())
                solution = self.environment.solution()
                system = prompts.system_prompt(self.config, self.environment, think=think)
                length = len(solution) if solution is not None and solution is not UNKNOWN else None
        except EnvironmentFault as fault:
            return replace(start, fault=fault)
        return replace(start, optimal_length=length, system=system)

    def step(self, parsed: ParsedResponse) -> TurnOutcome:
        """`play` with a fault of the environment as part of the outcome."""
        try:
            return self.play(parsed)
        except EnvironmentFault as fault:
            return TurnOutcome.of_fault(parsed, fault)

    def reset(self) -> str:
        """The first observation. If the environment raises, `EnvironmentFault` names it and the seed."""
        with self.guarded("reset"):
            start = reset_in_split(
                self.environment, seed=self.spec.seed, split=self.spec.split, chance_seed=self.spec.chance_seed_of
            )
            self.seed, self.problem = start.seed, start.problem
            self.observation = _text(start.observation)
        return self.observation

    @contextmanager
    def guarded(self, where: str) -> Iterator[None]:
        """Turns any exception of the environment into an `EnvironmentFault` with its name, its seed and `where`."""
        try:
            yield
        except Exception as error:
            raise EnvironmentFault(
                f"The environment {self.config.tag!r} ({self.config.kind}) raised in {where} with seed "
                f"{self.seed}: {type(error).__name__}: {error}",
                remedy=f"Run `python -m engine check-env {self.config.kind}` and fix the environment.",
            ) from error

    @property
    def actions_left(self) -> int:
        return self.config.max_actions - self.actions

    def play(self, parsed: ParsedResponse) -> TurnOutcome:
        """Executes the known actions of one response, in order, until the episode ends or the budget is spent."""
        self.turns += 1
        frames: list[Frame] = []
        info: dict[str, Any] = {}
        over, unknown = False, False
        for text in parsed.actions:
            if over or len(frames) >= self.actions_left:
                break
            action = self._resolve(text)
            if action is None:
                unknown = True
                continue
            frame, over, info = self._step(action)
            frames.append(frame)
        if unknown and parsed.well_formed:
            parsed = replace(parsed, case="unknown_action")
        valid = parsed.well_formed and bool(frames)
        self.actions += len(frames)
        return TurnOutcome(
            executed=[frame.action for frame in frames],
            frames=frames,
            reward=sum(frame.reward for frame in frames),
            penalty=self._penalty(parsed, valid),
            valid=valid,
            parsed=parsed,
            info=_scalars(info),
            stop=self._stop(over),
            observation=self.observation,
            actions_left=self.actions_left,
            success=self.success,
        )

    def _penalty(self, parsed: ParsedResponse, valid: bool) -> float:
        surplus = parsed.surplus > 0 and self.config.surplus_actions == "penalty"
        return self.config.format_penalty if surplus or not valid else 0.0

    def _resolve(self, text: str) -> Action | None:
        """The action that `text` means in the present state; None if there is none."""
        with self.guarded("resolve"):
            return self.environment.resolve(text)

    def _step(self, action: Action) -> tuple[Frame, bool, dict[str, Any]]:
        with self.guarded("step"):
            name = self.environment.name_of(action)
            observation, reward, terminated, truncated, info = self.environment.step(action)
            if not math.isfinite(reward):
                raise ValueError(f"the reward of {name!r} is {reward}; rewards are finite numbers")
            frame = Frame(
                action=name,
                reward=float(reward),
                effective=bool(info["action_is_effective"]),
                observation=_text(observation),
                drawing=self.environment.drawing(),
            )
            solved = bool(info["success"])
        self.observation = frame.observation
        self.success = self.success or solved
        return frame, terminated or truncated, info

    def _stop(self, over: bool) -> StopReason | None:
        if over:
            return "success" if self.success else "terminated"
        if self.actions_left <= 0:
            return "max_actions"
        return "max_turns" if self.turns >= self.config.max_turns else None


def _text(observation: object) -> str:
    """The model reads observations, so anything but text is a fault of the environment."""
    if not isinstance(observation, str):
        raise TypeError(f"the observation is {type(observation).__name__}; observations are text")
    return observation


def _scalars(info: dict[str, Any]) -> dict[str, Any]:
    """What a record can store: JSON has no NaN or infinity."""
    plain = {key: value for key, value in info.items() if isinstance(value, bool | int | float | str)}
    return {key: value for key, value in plain.items() if not isinstance(value, float) or math.isfinite(value)}
