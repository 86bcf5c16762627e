"""EnvStateManager: groups x members of environments, their seeds, budgets, penalties and faults.

It steps environments with parsed actions and says when an episode is over and why. It knows no tokens and no prompts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from engine.config import TRAINING_SEED_LIMIT, EnvironmentConfig, group_shares
from engine.environments import make_environment
from engine.environments.base import Environment
from engine.errors import EnvironmentFault
from engine.rollout.action_parser import ParsedReply
from engine.rollout.types import Frame, StopReason


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeSpec:
    """One episode to play: which environment, which puzzle (`seed`), which luck (`chance_seed`)."""

    environment: EnvironmentConfig
    group: int
    member: int
    seed: int
    chance_seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOutcome:
    """What one reply did."""

    executed: list[str]
    frames: list[Frame]
    reward: float
    penalty: float
    understood: bool
    parsed: ParsedReply
    info: dict[str, Any]
    stop: StopReason | None  # None while the episode goes on


def chance_seed(seed: int, member: int) -> int:
    """The luck of a member: its own on the same puzzle, and the same whenever it is played again."""
    return seed * 1009 + member + 1


class Episode:
    """One environment being played within its budgets."""

    def __init__(self, spec: EpisodeSpec) -> None:
        self.spec = spec
        self.config = spec.environment
        self.turns = 0
        self.actions = 0
        self.success = False
        self.environment: Environment = make_environment(self.config.kind, **self.config.parameters)
        self.observation = ""

    def reset(self) -> str:
        """The first observation; `EnvironmentFault` names the environment and seed when it raises."""
        with self.guarded("reset"):
            observation, _ = self.environment.reset(seed=self.spec.seed, options={"chance_seed": self.spec.chance_seed})
            self.observation = _text(observation)
        return self.observation

    @contextmanager
    def guarded(self, where: str) -> Iterator[None]:
        """Whatever the environment raises inside becomes an `EnvironmentFault` that names it, its seed and `where`."""
        try:
            yield
        except Exception as error:
            raise EnvironmentFault(
                f"The environment {self.config.tag!r} ({self.config.kind}) raised in {where} with seed "
                f"{self.spec.seed}: {type(error).__name__}: {error}",
                remedy=f"Run `python -m engine check-env {self.config.kind}` and mend the environment.",
            ) from error

    @property
    def actions_left(self) -> int:
        return self.config.max_actions - self.actions

    def play(self, parsed: ParsedReply) -> TurnOutcome:
        """Executes the known actions of one reply, in order, until the episode ends or the budget is spent."""
        self.turns += 1
        known, unknown = self._resolve(parsed.actions)
        if unknown and parsed.well_formed:
            parsed = ParsedReply(thought=parsed.thought, actions=parsed.actions, case="unknown_action")
        understood = parsed.well_formed and bool(known)
        frames: list[Frame] = []
        info: dict[str, Any] = {}
        reward, over = 0.0, False
        for action_id, name in known[: self.actions_left]:
            frame, over, info = self._step(action_id, name)
            frames.append(frame)
            reward += frame.reward
            if over:
                break
        self.actions += len(frames)
        return TurnOutcome(
            executed=[frame.action for frame in frames],
            frames=frames,
            reward=reward,
            penalty=0.0 if understood else self.config.format_penalty,
            understood=understood,
            parsed=parsed,
            info=_scalars(info),
            stop=self._stop(over),
        )

    def _resolve(self, names: list[str]) -> tuple[list[tuple[int, str]], list[str]]:
        """Names as `(id, name)` pairs, case-insensitively, and the names that are no action here."""
        with self.guarded("action_names"):
            lookup = {name.lower(): (index, name) for index, name in enumerate(self.environment.action_names())}
        known = [lookup[name.lower()] for name in names if name.lower() in lookup]
        return known, [name for name in names if name.lower() not in lookup]

    def _step(self, action_id: int, name: str) -> tuple[Frame, bool, dict[str, Any]]:
        with self.guarded("step"):
            observation, reward, terminated, truncated, info = self.environment.step(action_id)
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
    """An observation is what the model reads, so anything but text is a fault of the environment."""
    if not isinstance(observation, str):
        raise TypeError(f"the observation is {type(observation).__name__}; observations are text")
    return observation


def _scalars(info: dict[str, Any]) -> dict[str, Any]:
    """What a record can keep; JSON has no number that is none."""
    plain = {key: value for key, value in info.items() if isinstance(value, bool | int | float | str)}
    return {key: value for key, value in plain.items() if not isinstance(value, float) or math.isfinite(value)}


class EnvStateManager:
    """Lays out a batch: which puzzles, how many members each, with which seeds. Groups lie in order of environment."""

    def __init__(
        self, environments: list[EnvironmentConfig], *, groups: int, group_size: int, seed: int, refills: int = 0
    ) -> None:
        self.environments = environments
        self.groups = groups
        self.group_size = group_size
        self.seed = seed
        self.refills = refills  # times a step may draw again; their puzzles come out of the run's seeds

    def training_batch(self, step: int) -> list[EpisodeSpec]:
        """Groups x members of step `step` (from 1). Puzzle seeds never repeat within a run and stay below 10^9."""
        return self.refill_batch(step, draw=0, places=range(self.groups))

    def refill_batch(self, step: int, *, draw: int, places: Sequence[int]) -> list[EpisodeSpec]:
        """Fresh puzzles for the groups at `places` (from 0) of the step's layout, the same environment for each.

        `draw` is from 1 to `refills`; its groups are numbered on from those of the draw before.
        """
        drawn = (step - 1) * (1 + self.refills) + draw
        first = (self.seed * 7_919_017 + drawn * self.groups) % TRAINING_SEED_LIMIT
        shares = group_shares(self.environments, self.groups)
        owners = [
            environment for environment, share in zip(self.environments, shares, strict=True) for _ in range(share)
        ]
        return [
            self._spec(owners[place], draw * self.groups + place, member, (first + place) % TRAINING_SEED_LIMIT)
            for place in places
            for member in range(self.group_size)
        ]

    def held_out_batch(self, environment: EnvironmentConfig, *, first_seed: int, episodes: int) -> list[EpisodeSpec]:
        return self.batch_of_seeds(environment, range(first_seed, first_seed + episodes))

    def batch_of_seeds(
        self, environment: EnvironmentConfig, seeds: Sequence[int], *, sample: int = 0
    ) -> list[EpisodeSpec]:
        """One episode for each of `seeds`; another `sample` meets the same puzzles with other luck."""
        return [self._spec(environment, index, sample, seed) for index, seed in enumerate(seeds)]

    def _spec(self, environment: EnvironmentConfig, group: int, member: int, seed: int) -> EpisodeSpec:
        return EpisodeSpec(
            environment=environment, group=group, member=member, seed=seed, chance_seed=chance_seed(seed, member)
        )
