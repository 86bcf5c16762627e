"""The calls: each takes and returns JSON, makes a new environment and keeps nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from typing import Any

from engine.config import EnvironmentConfig
from engine.environment_calls import facts
from engine.environments import environment_of
from engine.environments.feasibility import SolutionLengths, action_budget, feasibility_of, solution_lengths
from engine.environments.optimal import actions_to_go, optimal_play
from engine.play import EpisodeByHand
from engine.rollout.prompts import first_prompt, next_turn
from engine.suites import resolve as suites

Answer = dict[str, Any]
STATES = 4
SEEDS = range(20)  # whose solutions are measured
LONGEST_EPISODE = 1000  # responses; more than any budget of turns allows


def states(config: EnvironmentConfig, *, first_seed: int) -> Answer:
    """First states of some seeds, the first prompt as a run would send it, and what the budget allows."""
    found = feasibility_of(_lengths(config), action_budget(config))
    return {
        "states": facts.first_states(config, [first_seed + index for index in range(STATES)]),
        "prompt": first_prompt(config, think=True, seed=first_seed),
        "action_budget": action_budget(config),
        "impossible": found.explain() if found.impossible else "",
        "warning": f"Many problems cannot be solved: {found.explain()}" if found.unlikely else "",
    }


def baselines(config: EnvironmentConfig) -> Answer:
    return {"baselines": facts.baselines(config)}


def lengths(config: EnvironmentConfig) -> Answer:
    """The lengths of shortest solutions: null where there is none; and of how many problems nothing is known."""
    return asdict(_lengths(config))


def _lengths(config: EnvironmentConfig) -> SolutionLengths:
    with closing(environment_of(config)) as environment:
        return solution_lengths(environment, SEEDS)


def first_look(config: EnvironmentConfig) -> Answer:
    """What a card needs first."""
    return {"drawing": facts.first_states(config, [facts.FIRST_SEED])[0]["drawing"]}


def play(config: EnvironmentConfig, *, seed: int, responses: list[str]) -> Answer:
    """The whole episode so far: the prompts a model would get, the responses, and their outcomes."""
    with closing(EpisodeByHand(config, seed, think=True)) as episode:
        first = asdict(episode.situation())
        turns: list[Answer] = []
        for response in responses[:LONGEST_EPISODE]:
            if episode.stop:
                break
            turns.append({"response": response, **_turn(episode, response)})
        return {
            "prompt": first_prompt(config, think=True, seed=seed),
            "first": first,
            "turns": turns,
            "actions_per_turn": config.max_actions_per_turn,
            "separator": episode.episode.environment.separator,
            "answer_form": episode.episode.environment.answer_form,
            "now": asdict(episode.situation()),
        }


def _turn(episode: EpisodeByHand, response: str) -> Answer:
    """The outcome of a response, and as `answer` the message that a model would get next."""
    outcome = episode.play(response)
    now = episode.situation()
    answer = next_turn(
        now.observation, reward=outcome["reward"], actions_left=now.actions_left, valid=outcome["penalty"] == 0
    )
    return {**outcome, "answer": "" if episode.stop else answer}


def actions(config: EnvironmentConfig, *, seed: int, chance_seed: int, executed: list[str]) -> Answer:
    """The actions of the state after `executed`: their names, or null and suggestions where they are free text."""
    with closing(environment_of(config)) as environment:
        environment.reset(seed=seed, options={"chance_seed": chance_seed})
        for name in executed:
            action = environment.resolve(name)
            if action is not None:
                environment.step(action)
        return {
            "actions": environment.action_names(),
            "suggestions": environment.suggestions(),
            "separator": environment.separator,
            "answer_form": environment.answer_form,
        }


def optimal(config: EnvironmentConfig, *, seed: int, initial: Any) -> Answer:
    """A shortest solution and its states; null if none is known."""
    found = optimal_play(config, seed, initial)
    return {"optimal": asdict(found) if found else None}


def distances(config: EnvironmentConfig, *, seed: int, turns: list[Any], seconds_for_all: float) -> Answer:
    """The fewest actions to success before and after each turn."""
    return {"to_go": actions_to_go(config, seed, turns, seconds=seconds_for_all)}


def held_out_problems(
    config: EnvironmentConfig, *, first_seed: int, count: int, seeds: list[int], limit: float
) -> Answer:
    """Problems for a suite: `count` different ones, or those of `seeds`, with the seeds of training problems."""
    if seeds:
        return asdict(suites.given_problems(config, seeds))
    return asdict(suites.held_out_problems(config, first_seed=first_seed, count=count, seconds=limit))


CALLS: dict[str, Callable[..., Answer]] = {
    "states": states,
    "baselines": baselines,
    "lengths": lengths,
    "first_look": first_look,
    "play": play,
    "actions": actions,
    "optimal": optimal,
    "distances": distances,
    "held_out_problems": held_out_problems,
}


def answer(call: str, config: dict[str, Any], arguments: dict[str, Any]) -> Answer:
    return CALLS[call](EnvironmentConfig.model_validate(config), **arguments)
