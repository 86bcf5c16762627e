"""Episode: one environment stepped with parsed responses, within its budgets, with penalties and faults.

It decides when an episode is over and why, and closes its environment then. Its inputs and results are plain data that
can be sent, so it may run in another thread or on another machine than the one that keeps its transcript. It knows no
tokens. Time limits are declared here (`deadline`) and enforced by whoever runs it (`environment_pool`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from engine.environments import environment_of
from engine.environments.base import UNKNOWN, Action, Drawing, Environment
from engine.environments.guard import Interrupt
from engine.environments.problems import reset_in_split
from engine.errors import EnvironmentFault, EnvironmentUnavailable
from engine.rollout import prompts
from engine.rollout.action_parser import ParsedResponse
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.environment_output import InfoMetrics, drawing_of, recordable, step_result, text_of
from engine.rollout.types import Frame, StopReason

Limit = Literal["construct_seconds", "reset_seconds", "step_seconds", "close_seconds"]
LONGEST_CAUSE = 1000  # characters of an exception's text in a fault


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
    close_fault: str = ""

    @property
    def is_over(self) -> bool:
        return self.fault is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOutcome:
    """The effect of one response, and the state after it. `info_metrics` are those of the episode so far."""

    parsed: ParsedResponse
    executed: list[str] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    reward: float = 0.0
    penalty: float = 0.0
    valid: bool = False
    info: dict[str, Any] = field(default_factory=dict)
    info_metrics: dict[str, float] = field(default_factory=dict)
    stop: StopReason | None = None  # None while the episode continues
    observation: str = ""
    actions_left: int = 0
    success: bool = False  # at any time so far
    fault: EnvironmentFault | None = None
    close_fault: str = ""

    @property
    def is_over(self) -> bool:
        return self.stop is not None

    @classmethod
    def of_fault(cls, parsed: ParsedResponse, fault: EnvironmentFault) -> TurnOutcome:
        """A response whose turn failed."""
        return cls(parsed=parsed, stop="fault", fault=fault)


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """The environment of an episode that ended otherwise has been closed, or failed to."""

    close_fault: str = ""
    is_over: bool = True


class Episode:
    """One environment being played within its budgets and limits."""

    environment: Environment

    def __init__(self, spec: EpisodeSpec) -> None:
        self.spec = spec
        self.config = spec.environment
        self.turns = 0
        self.actions = 0
        self.success = False
        self.observation = ""
        self.seed = spec.seed
        self.problem = 0
        self.info_metrics = InfoMetrics({})
        self.phase = ""  # of the environment's code that is running, or was last
        self.limit: Limit = "construct_seconds"
        self.deadline = math.inf  # when that must have returned, by `time.monotonic`
        self.is_closed = False
        self.ending: EpisodeStart | TurnOutcome | None = None  # what is left to return once the environment is closed

    def start(self, *, think: bool) -> EpisodeStart:
        """Creates and resets the environment; `think` selects the system prompt. An `EnvironmentFault` is part of the
        result."""
        start = EpisodeStart()
        try:
            observation = self.reset()
            start = EpisodeStart(
                observation=observation,
                seed=self.seed,
                problem=self.problem,
                separator=self.environment.separator,
            )
            with self.guarded("drawing, solution or describe", "reset_seconds"):
                start = replace(start, drawing=self._drawing())
                solution = self.environment.solution()
                system = prompts.system_prompt(self.config, self.environment, think=think)
                text_of(system, what="system prompt", most=self.config.limits.max_observation_characters)
                length = len(solution) if solution is not None and solution is not UNKNOWN else None
        except EnvironmentFault as fault:
            ending = self.ending = replace(start, fault=fault)
            return replace(ending, close_fault=self.close())
        return replace(start, optimal_length=length, system=system)

    def step(self, parsed: ParsedResponse) -> TurnOutcome:
        """`play` with a fault of the environment as part of the outcome. The last one closes the environment."""
        try:
            outcome = self.play(parsed)
        except EnvironmentFault as fault:
            outcome = TurnOutcome.of_fault(parsed, fault)
        if not outcome.is_over:
            return outcome
        self.ending = outcome
        return replace(outcome, close_fault=self.close())

    def close(self) -> str:
        """Closes the environment, if there is one that is open. Returns what went wrong, which ends nothing."""
        if self.is_closed or not hasattr(self, "environment"):
            return ""
        self.is_closed = True
        try:
            with self.guarded("close", "close_seconds"):
                self.environment.close()
        except EnvironmentFault as fault:
            return str(fault)
        return ""

    def reset(self) -> str:
        """Creates the environment and returns the first observation."""
        with self.guarded("constructor", "construct_seconds"):
            self.environment = environment_of(self.config)
            self.info_metrics = InfoMetrics(self.environment.info_metrics)
        with self.guarded("reset", "reset_seconds"):
            start = reset_in_split(
                self.environment, seed=self.spec.seed, split=self.spec.split, chance_seed=self.spec.chance_seed_of
            )
            self.seed, self.problem = start.seed, start.problem
            self.observation = self._text(start.observation)
        return self.observation

    def look(self) -> tuple[Drawing, list[str] | None, list[str]]:
        """The drawing of the state, the names of its actions, and suggestions where actions are free text."""
        with self.guarded("drawing, action_names or suggestions", "step_seconds"):
            return self._drawing(), self.environment.action_names(), self.environment.suggestions()

    @contextmanager
    def guarded(self, phase: str, limit: Limit) -> Iterator[None]:
        """Runs code of the environment: sets its deadline, and turns whatever it raises into an `EnvironmentFault` with
        its name, its seed and the phase."""
        self.phase, self.limit = phase, limit
        deadline = self.deadline = time.monotonic() + getattr(self.config.limits, limit)
        try:
            yield
        except Interrupt:
            raise
        except EnvironmentUnavailable as error:
            raise EnvironmentUnavailable(
                f"{self._name} cannot go on: {_encodable(error.message)}",
                remedy=_encodable(error.remedy),
                kind=f"unavailable in {phase}",
            ) from error
        except BaseException as error:  # an environment may call sys.exit
            raise EnvironmentFault(
                f"{self._name} raised in {phase} with seed {self.seed}: {type(error).__name__}: {_cause(error)}",
                remedy=f"Run `python -m engine check-env {self.config.kind}` and fix the environment.",
                kind=f"{type(error).__name__} in {phase}",
            ) from error
        finally:
            if self.deadline == deadline:  # else another thread is closing the environment, which exceeded this one
                self.deadline = math.inf

    def limit_fault(self) -> EnvironmentFault:
        """The fault of an environment that has not returned by its deadline."""
        seconds = getattr(self.config.limits, self.limit)
        return EnvironmentFault(
            f"{self._name} did not return from {self.phase} with seed {self.seed} within {seconds:g} seconds, "
            f"limits.{self.limit}.",
            remedy=f"Fix the environment, or raise limits.{self.limit} if it needs longer.",
            kind=f"time limit of {self.phase}",
        )

    @property
    def _name(self) -> str:
        return f"The environment {self.config.tag!r} ({self.config.kind})"

    def _text(self, observation: object) -> str:
        return text_of(observation, most=self.config.limits.max_observation_characters)

    def _drawing(self) -> Drawing:
        return drawing_of(self.environment.drawing(), most=self.config.limits.max_observation_characters)

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
            info=recordable(info),
            info_metrics=dict(self.info_metrics.values),
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
        with self.guarded("resolve", "step_seconds"):
            return self.environment.resolve(text)

    def _step(self, action: Action) -> tuple[Frame, bool, dict[str, Any]]:
        most = self.config.limits.max_observation_characters
        with self.guarded("step", "step_seconds"):
            name = text_of(self.environment.name_of(action), what="name of the action", most=most)
            observation, reward, over, info = step_result(self.environment.step(action))
            frame = Frame(
                action=name,
                reward=reward,
                effective=bool(info["action_is_effective"]),
                observation=self._text(observation),
                drawing=self._drawing(),
            )
            solved = bool(info["success"])
            self.info_metrics.add(info)
        self.observation = frame.observation
        self.success = self.success or solved
        return frame, over, info

    def _stop(self, over: bool) -> StopReason | None:
        if over:
            return "success" if self.success else "terminated"
        if self.actions_left <= 0:
            return "max_actions"
        return "max_turns" if self.turns >= self.config.max_turns else None


def _cause(error: BaseException) -> str:
    """An exception's text, which may be of any length, hold anything, and raise itself."""
    try:
        text = str(error)
    except Exception as nested:
        text = f"its text cannot be had, {type(nested).__name__}"
    return _encodable(text if len(text) <= LONGEST_CAUSE else f"{text[:LONGEST_CAUSE]}…")


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()
