"""The episodes of a pre-flight: training problems, played by a player without a model, or by a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np

from engine.config import EnvironmentConfig, RunConfig
from engine.environments import environment_of
from engine.environments.base import UNKNOWN
from engine.environments.players import player_named
from engine.environments.problems import reset_in_split
from engine.errors import EnvironmentFault
from engine.preflight.report import Problem, Rollout
from engine.rollout.action_parser import parse_response
from engine.rollout.env_state_manager import EpisodeSpec, chance_seed
from engine.rollout.episode import Episode

Round = list[Rollout]  # one rollout of each problem


def problems_of(config: EnvironmentConfig, seeds: Sequence[int]) -> list[Problem]:
    """The training problems of `seeds`, with what is known of their solutions."""
    environment = environment_of(config)
    found = []
    for seed in seeds:
        start = reset_in_split(environment, seed=seed, split="train")
        solution = environment.solution()
        known = "unknown" if solution is UNKNOWN else "impossible" if solution is None else "known"
        length = len(solution) if solution is not None and solution is not UNKNOWN else None
        found.append(Problem(seed=seed, identity=f"{start.problem:016x}", solution=known, length=length))
    return found


def shared_with_held_out(config: EnvironmentConfig, problems: Sequence[Problem], *, first_seed: int) -> int:
    """How many of as many held-out problems are among `problems`."""
    environment = environment_of(config)
    known = {problem.identity for problem in problems}
    starts = (
        reset_in_split(environment, seed=first_seed + index, split="held_out").problem for index in range(len(problems))
    )
    return sum(f"{problem:016x}" in known for problem in starts)


def rounds_of_player(config: EnvironmentConfig, player: str, seeds: Sequence[int], rollouts: int) -> Iterator[Round]:
    """Each round plays every problem once, through the parser and the budgets that a model has."""
    for member in range(rollouts):
        yield [_played(config, player, seed, member) for seed in seeds]


def rounds_of_model(
    config: EnvironmentConfig, model: str, seeds: Sequence[int], rollouts: int, *, temperature: float
) -> Iterator[Round]:
    """The same with a model, sampled as in training."""
    from engine.evaluation.models import LocalModel
    from engine.policies.model_paths import model_source

    run = RunConfig.model_validate({"environments": [config.model_dump()]})
    local = LocalModel(run, model_source(model))
    try:
        for member in range(rollouts):
            results = local.play(_specs(config, seeds, member), temperature=temperature).results
            yield [
                Rollout(
                    value=result.raw_return,
                    success=bool(result.success),
                    turns=result.turns,
                    malformed=result.parse_failures,
                    stop=result.stop,
                    error=result.error,
                )
                for result in results
            ]
    finally:
        local.close()


def _specs(config: EnvironmentConfig, seeds: Sequence[int], member: int) -> list[EpisodeSpec]:
    return [
        EpisodeSpec(environment=config, group=group, member=member, seed=seed, chance_seed=chance_seed(seed, member))
        for group, seed in enumerate(seeds)
    ]


def _played(config: EnvironmentConfig, player: str, seed: int, member: int) -> Rollout:
    play = player_named(player)
    [spec] = _specs(config, [seed], member)
    episode = Episode(spec)
    rng = np.random.default_rng([seed, member])
    total, malformed, stop = 0.0, 0, ""
    try:
        episode.reset()
        while not stop:
            most = min(config.max_actions_per_turn, episode.actions_left)
            with episode.guarded("the player"):
                names = play(episode.environment, most, rng)
            outcome = episode.play(
                parse_response(
                    f"<answer>{(episode.environment.separator or '').join(names)}</answer>",
                    think=False,
                    max_actions=config.max_actions_per_turn,
                    separator=episode.environment.separator,
                )
            )
            total += outcome.reward
            malformed += not outcome.parsed.well_formed
            stop = outcome.stop or ""
    except EnvironmentFault as fault:
        return Rollout(
            value=None, success=False, turns=episode.turns, malformed=malformed, stop="fault", error=fault.message
        )
    finally:
        with suppress(Exception):  # an environment may raise anything, and the episode is over
            episode.environment.close()
    return Rollout(value=total, success=episode.success, turns=episode.turns, malformed=malformed, stop=stop)
