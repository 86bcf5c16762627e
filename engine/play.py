"""Manual play: one episode with the same parser, budgets and penalties as a model's, in a browser or a terminal.

An episode is stored as its configuration, its seed and the responses so far; the state is reconstructed by replaying
them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from engine.config import EnvironmentConfig, apply_override, problems_by_field
from engine.environments.guard import LimitExceeded, call_guarded
from engine.errors import ConfigError, EnvironmentFault
from engine.rollout.action_parser import parse_response
from engine.rollout.env_state_manager import EpisodeSpec
from engine.rollout.environment_pool import Request, perform_guarded
from engine.rollout.episode import Episode, TurnOutcome
from engine.rollout.prompts import opener

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a player sees: the state, the remaining budget, and why the episode is over (empty while it is not)."""

    observation: str
    drawing: dict[str, Any]
    actions: list[str] | None  # None where actions are free text
    suggestions: list[str]  # of free text, where they can be listed
    actions_left: int
    turns_left: int
    total_reward: float
    total_penalty: float
    stop: str
    success: bool


class EpisodeByHand:
    """The environment runs within its limits, in threads of its own; a fault of it is raised. To be closed at last."""

    def __init__(self, config: EnvironmentConfig, seed: int, *, think: bool = False) -> None:
        self.think = think
        self.episode = Episode(
            EpisodeSpec(environment=config, group=0, member=0, seed=seed, chance_seed=seed * 1009 + 1)
        )
        try:
            self._guarded(self.episode.reset)
        except EnvironmentFault:
            self.close()
            raise
        self.total_reward = 0.0
        self.total_penalty = 0.0
        self.stop = ""

    @classmethod
    def replay(
        cls, config: EnvironmentConfig, seed: int, responses: list[str], *, think: bool = False
    ) -> EpisodeByHand:
        """The episode after `responses`; those after its end are ignored."""
        played = cls(config, seed, think=think)
        for response in responses:
            if not played.stop:
                played.play(response)
        return played

    def play(self, response: str) -> dict[str, Any]:
        """One turn with a model's response, with or without its opener. Returns a JSON-serialisable outcome."""
        if self.stop:
            raise RuntimeError(f"The episode is over ({self.stop}); start another.")
        start = opener(think=self.think)
        text = response if response.lstrip().startswith(start) else start + response
        parsed = parse_response(
            text,
            think=self.think,
            max_actions=self.episode.config.max_actions_per_turn,
            separator=self.episode.environment.separator,
        )
        outcome = self._guarded(lambda: self.episode.play(parsed))
        self.total_reward += outcome.reward
        self.total_penalty += outcome.penalty
        self.stop = outcome.stop or ""
        return _plain(outcome)

    def close(self) -> None:
        """Closes the environment; what goes wrong in it is of no consequence."""
        perform_guarded(Request(row=0, episode=self.episode, closing=True))

    def play_actions(self, names: list[str]) -> dict[str, Any]:
        """One turn with the named actions, and an empty thought if one is required."""
        separator = self.episode.environment.separator or ""
        return self.play(f"{'</think>' if self.think else ''}<answer>{separator.join(names)}</answer>")

    def situation(self) -> Situation:
        episode = self.episode
        drawing, names, suggestions = self._guarded(episode.look)
        return Situation(
            observation=episode.observation,
            drawing=drawing,
            actions=names,
            suggestions=suggestions,
            actions_left=episode.actions_left,
            turns_left=episode.config.max_turns - episode.turns,
            total_reward=self.total_reward,
            total_penalty=self.total_penalty,
            stop=self.stop,
            success=episode.success,
        )

    def _guarded(self, work: Callable[[], T]) -> T:
        try:
            return call_guarded(work, lambda: self.episode.deadline)
        except LimitExceeded:
            raise self.episode.limit_fault() from None


def _plain(outcome: TurnOutcome) -> dict[str, Any]:
    return {
        "thought": outcome.parsed.thought,
        "parse": outcome.parsed.case,
        "parsed": outcome.parsed.actions,
        "surplus": outcome.parsed.surplus,
        "executed": outcome.executed,
        "reward": outcome.reward,
        "penalty": outcome.penalty,
        "frames": [asdict(frame) for frame in outcome.frames],
        "stop": outcome.stop or "",
    }


def play_main(argv: list[str]) -> int:
    """`python -m engine play KIND [--seed N] [--set key=value]`: play by typing actions."""
    parser = environment_parser("play")
    parser.add_argument("--seed", type=int, default=1, help="seed of the problem, 0 or more")
    options = parser.parse_args(argv)
    if options.seed < 0:
        raise ConfigError(f"--seed is {options.seed}.", remedy="Give 0 or more.")
    config = environment_to_play(options.kind, options.set)
    game = EpisodeByHand(config, options.seed)
    sys.stdout.write(f"{config.instruction}\n{game.episode.environment.describe()}\n")
    while not game.stop:
        now = game.situation()
        sys.stdout.write(f"\n{now.observation}\n{', '.join(now.actions or ['text'])} ({now.actions_left} left): ")
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            game.close()
            sys.stdout.write("\nStopped before the end of the episode.\n")
            return 1
        separator = game.episode.environment.separator
        names = line.split(separator) if separator else [line]
        outcome = game.play_actions([name.strip() for name in names])
        sys.stdout.write(f"{outcome['parse']}, reward {outcome['reward']:g}, penalty {outcome['penalty']:g}\n")
    game.close()
    sys.stdout.write(f"\n{game.episode.observation}\n{game.stop}, return {game.total_reward:g}\n")
    return 0


def environment_parser(command: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m engine {command}")
    parser.add_argument("kind", help="environment kind, such as frozen_lake")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="set a parameter of the environment"
    )
    return parser


def environment_to_play(kind: str, overrides: list[str]) -> EnvironmentConfig:
    data: dict[str, Any] = {"kind": kind, "parameters": {}}
    for override in overrides:
        apply_override(data["parameters"], override)
    try:
        return EnvironmentConfig.model_validate(data)
    except ValidationError as error:
        problems = "; ".join(
            f"{field}: {reason}" if field else reason for field, reason in problems_by_field(error, EnvironmentConfig)
        )
        raise ConfigError(problems, remedy="Correct these fields.") from None
