"""The episodes of a pre-flight: training problems, played by a player without a model, or by a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

import numpy as np

from engine.config import EnvironmentConfig, RunConfig
from engine.environments import environment_of
from engine.environments.base import UNKNOWN, Environment
from engine.environments.players import player_named
from engine.environments.problems import reset_in_split
from engine.errors import EnvironmentFault, EnvironmentUnavailable
from engine.preflight.report import Problem, Rollout
from engine.rollout.action_parser import ParsedResponse, parse_response
from engine.rollout.env_state_manager import EpisodeSpec, chance_seed
from engine.rollout.environment_pool import Request, Result, perform_guarded
from engine.rollout.episode import Closed, Episode, TurnOutcome

Round = list[Rollout]  # one rollout of each problem


def problems_of(config: EnvironmentConfig, seeds: Sequence[int]) -> list[Problem]:
    """The training problems of `seeds`, with what is known of their solutions."""
    with closing(environment_of(config)) as environment:
        return [_problem(environment, seed) for seed in seeds]


def _problem(environment: Environment, seed: int) -> Problem:
    start = reset_in_split(environment, seed=seed, split="train")
    solution = environment.solution()
    known = "unknown" if solution is UNKNOWN else "impossible" if solution is None else "known"
    length = len(solution) if solution is not None and solution is not UNKNOWN else None
    return Problem(seed=seed, identity=f"{start.problem:016x}", solution=known, length=length)


def shared_with_held_out(config: EnvironmentConfig, problems: Sequence[Problem], *, first_seed: int) -> int:
    """How many of as many held-out problems are among `problems`."""
    known = {problem.identity for problem in problems}
    seeds = range(first_seed, first_seed + len(problems))
    with closing(environment_of(config)) as environment:
        starts = [reset_in_split(environment, seed=seed, split="held_out").problem for seed in seeds]
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
    from engine.policies.model_paths import BUNDLED

    run = RunConfig.model_validate({"environments": [config.model_dump()]})
    local = LocalModel(run, str(BUNDLED.get(model, model)))
    try:
        for member in range(rollouts):
            played = local.play(_specs(config, seeds, member), temperature=temperature)
            if played.failure is not None:
                raise played.failure
            yield [
                Rollout(
                    value=result.raw_return,
                    success=bool(result.success),
                    turns=result.turns,
                    malformed=result.parse_failures,
                    stop=result.stop,
                    error=result.error,
                )
                for result in played.results
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
    rng = np.random.default_rng([seed, member])
    total, malformed, stop = 0.0, 0, ""
    episode: Episode | None = None
    try:
        episode = Episode(spec)
        _without_fault(perform_guarded(Request(row=0, episode=episode)))
        while not stop:
            names = play(episode.environment, min(config.max_actions_per_turn, episode.actions_left), rng)
            parsed = _parsed(config, episode, names)
            outcome = _without_fault(perform_guarded(Request(row=0, episode=episode, parsed=parsed)))
            if not isinstance(outcome, TurnOutcome):
                break
            total += outcome.reward
            malformed += not outcome.parsed.well_formed
            stop = outcome.stop or ""
        return Rollout(value=total, success=episode.success, turns=episode.turns, malformed=malformed, stop=stop)
    except EnvironmentUnavailable:
        raise  # no other rollout would fare better
    except Exception as error:  # an environment may raise anything, in what the player asks of it too
        text = error.message if isinstance(error, EnvironmentFault) else f"{type(error).__name__}: {error}"
        turns = episode.turns if episode else 0
        return Rollout(value=None, success=False, turns=turns, malformed=malformed, stop="fault", error=text)
    finally:
        if episode is not None and not episode.is_closed:
            perform_guarded(Request(row=0, episode=episode, closing=True))


def _parsed(config: EnvironmentConfig, episode: Episode, names: Sequence[str]) -> ParsedResponse:
    """The player's actions as a model's response."""
    separator = episode.environment.separator
    answer = f"<answer>{(separator or '').join(names)}</answer>"
    return parse_response(answer, think=False, max_actions=config.max_actions_per_turn, separator=separator)


def _without_fault(result: Result) -> Result:
    fault = None if isinstance(result, Closed) else result.fault
    if fault is not None:
        raise fault
    return result
