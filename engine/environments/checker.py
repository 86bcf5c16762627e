"""Checks the contract of `Environment` by playing, and describes each violation."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
import numpy as np

from engine.config import EnvironmentLimits
from engine.environments.base import UNKNOWN, Environment
from engine.environments.drawing_format import drawing_problem
from engine.environments.registry import make_environment
from engine.environments.watch import TimeLimit, Watch
from engine.glossary import outcomes

INFO_KEYS = ("action_is_valid", "action_is_effective", "success")
# used by the response format, which removes its markers from actions
FORBIDDEN_IN_NAMES = ("<think>", "</think>", "<answer>", "</answer>", "<|im_start|>", "<|im_end|>", "\n")
STRANGE_TEXTS = (
    "",
    " ",
    "\n",
    "xyzzy",
    "1" * 300,
    "search[" * 40,
    "\u2603\u0000\ud7ff",
    "<answer>||</answer>",
)
TAG = "env/<tag>/"
TAKEN = {entry.name.removeprefix(TAG) for entry in outcomes.ENV}  # metrics that every environment has
STEPS = 30
CHANCE_SEEDS = range(5)
CHECKED_SEEDS = range(10)


@dataclass(frozen=True, slots=True)
class Finding:
    """A violated rule; `rule` names it, `detail` describes the observation."""

    rule: str
    detail: str


def check_environment(
    kind: str, parameters: dict[str, Any] | None = None, seeds: Iterable[int] = CHECKED_SEEDS
) -> list[Finding]:
    """The first violation of each rule over `seeds`; an empty list is a pass."""
    return check(lambda: make_environment(kind, **(parameters or {})), seeds)


def check(make: Callable[[], Environment], seeds: Iterable[int] = CHECKED_SEEDS) -> list[Finding]:
    """`check_environment` for what `make` returns, such as a wrapped environment."""
    return check_seeds(make, seeds, Watch(EnvironmentLimits()))[0]


def check_seeds(make: Callable[[], Environment], seeds: Iterable[int], watch: Watch) -> tuple[list[Finding], int]:
    """The same, and how many seeds were checked: none after a call that exceeds its limit, or when the time is over."""
    found: dict[str, Finding] = {}
    checked = 0
    for seed in seeds:
        if watch.is_over():
            break
        try:
            watch.perform(partial(_note_violations, make, seed, watch, found))
        except TimeLimit as exceeded:
            if not exceeded.of_all:
                found.setdefault("time-limit", Finding("time-limit", f"seed {seed}: {exceeded}"))
            break
        checked += 1
    return list(found.values()), checked


def _note_violations(make: Callable[[], Environment], seed: int, watch: Watch, found: dict[str, Finding]) -> None:
    first, second = watch.make(make), watch.make(make)
    for rule, detail in _check_seed(first, second, seed):
        found.setdefault(rule, Finding(rule, f"seed {seed}: {detail}"))


Violation = tuple[str, str]


def _check_seed(first: Environment, second: Environment, seed: int) -> Iterator[Violation]:
    """All violations for one seed. An exception ends the seed and is a violation itself."""
    before = _global_randomness()
    try:
        yield from _check_raises("step-before-reset", first, _some_action(first), RuntimeError)
        yield from _check_resets(first, second, seed)
        yield from _check_actions(first, seed)
        yield from _check_solution(first, seed)
        yield from _check_episode(first, second, seed)
    except (Exception, SystemExit) as error:  # an environment may raise anything
        yield "raises", f"{type(error).__name__}: {error}"
    if _global_randomness() != before:
        yield "global-randomness", "the global generator of random or numpy was used; use a generator of the "
        "environment's own"


def _global_randomness() -> tuple[Any, list[int]]:
    numpy_state: Any = np.random.get_state()
    return random.getstate(), [*numpy_state[1].tolist(), numpy_state[2]]


def _check_resets(first: Environment, second: Environment, seed: int) -> Iterator[Violation]:
    observation, info = first.reset(seed=seed)
    if not isinstance(info, dict):
        yield "reset-info", f"reset returned {info!r} as info; it must be a dict"
    other, _ = second.reset(seed=seed)
    if observation != other or first.drawing() != second.drawing():
        yield "reset-deterministic", f"two instances started with {observation!r} and {other!r}"
    for chance_seed in CHANCE_SEEDS:
        other_start, _ = second.reset(seed=seed, options={"chance_seed": chance_seed})
        if other_start != observation:
            yield "chance-changes-problem", f"chance_seed {chance_seed} started with {other_start!r} instead of "
            f"{observation!r}"
    if not first.describe().strip():
        yield "description", "describe() is empty"
    for name in first.info_metrics:
        if name in TAKEN or not name.isidentifier() or name != name.lower():
            yield (
                "info-metrics",
                f"{name!r} cannot be the name of a metric: it is taken, or not a lower-case identifier",
            )
    yield from _check_state(first, observation)


def _check_state(environment: Environment, observation: str) -> Iterator[Violation]:
    if not observation or not environment.observation_space.contains(observation):
        yield "observation", f"{observation!r} is not in the observation space {environment.observation_space}"
    if observation != environment.render():
        yield "observation-is-render", f"{observation!r} was returned, but render() gives {environment.render()!r}"
    problem = drawing_problem(environment.drawing())
    if problem:
        yield "drawing", problem


def _check_actions(environment: Environment, seed: int) -> Iterator[Violation]:
    """Names are usable in an answer, and each id is accepted in the first state; or any text is."""
    environment.reset(seed=seed)
    names = environment.action_names()
    if names is None:
        yield from _check_text_actions(environment, seed)
        return
    count = int(getattr(environment.action_space, "n", -1))
    if len(names) != count:
        yield "action-names", f"there are {len(names)} names and {count} actions"
    if len({name.lower() for name in names}) != len(names):
        yield "action-names", f"{names} are not distinct when case is ignored"
    for name in names:
        separator = [environment.separator] if environment.separator else []
        if name != name.strip() or not name or any(part in name for part in (*FORBIDDEN_IN_NAMES, *separator)):
            yield "action-names", f"{name!r} cannot be written in an answer"
    for action in range(len(names)):
        environment.reset(seed=seed)
        yield from _check_step(environment.step(action))
    environment.reset(seed=seed)
    yield from _check_raises("unknown-action", environment, len(names), ValueError)


def _check_text_actions(environment: Environment, seed: int) -> Iterator[Violation]:
    """Any text is taken without an exception; what is not text is refused."""
    for text in STRANGE_TEXTS:
        environment.reset(seed=seed)
        yield from _check_step(environment.step(text))
    environment.reset(seed=seed)
    yield from _check_raises("unknown-action", environment, 7, ValueError)


def _check_raises(rule: str, environment: Environment, action: Any, error: type[Exception]) -> Iterator[Violation]:
    """`step(action)` must raise `error` and nothing else."""
    try:
        environment.step(action)
    except error:
        return
    except Exception as other:
        yield rule, f"step({action}) must raise {error.__name__}, not {type(other).__name__}: {other}"
    else:
        yield rule, f"step({action}) must raise {error.__name__}, but raised nothing"


def _check_step(result: tuple[Any, Any, Any, Any, dict[str, Any]]) -> Iterator[Violation]:
    _, reward, terminated, truncated, info = result
    if not isinstance(reward, float) or not math.isfinite(reward):
        yield "reward", f"{reward!r} is not a finite float"
    if not isinstance(terminated, bool) or not isinstance(truncated, bool):
        yield "ends", f"terminated is {terminated!r} and truncated {truncated!r}; both must be bool"
    for key in INFO_KEYS:
        if not isinstance(info.get(key), bool):
            yield "info-keys", f"info[{key!r}] is {info.get(key)!r}; it must be a bool"


def _check_solution(environment: Environment, seed: int) -> Iterator[Violation]:
    """There is a solution, querying it changes nothing, and playing it succeeds unless chance prevents it."""
    environment.reset(seed=seed)
    before = environment.render(), environment.drawing()
    solution = environment.solution()
    if (environment.render(), environment.drawing()) != before:
        yield "solution-changes-state", "the state after solution() is not the state before"
    if solution is UNKNOWN:
        return
    if solution is None:
        yield "solvable", "the first state has no solution"
        return
    outcomes = [_play(environment, solution, seed, chance_seed) for chance_seed in CHANCE_SEEDS]
    by_chance = any(seen != outcomes[0][0] for seen, _ in outcomes)
    if not by_chance and not outcomes[0][1]:
        yield "solution", f"playing solution(), {solution}, does not succeed"


def _some_action(environment: Environment) -> Any:
    """An action of the right type; before `reset` there may be no names yet."""
    return 0 if isinstance(environment.action_space, gymnasium.spaces.Discrete) else "anything"


def _play(environment: Environment, actions: list[Any], seed: int, chance_seed: int) -> tuple[list[Any], bool]:
    """The observations and rewards of `actions`, and whether the last one was a success."""
    seen: list[Any] = []
    success = False
    environment.reset(seed=seed, options={"chance_seed": chance_seed})
    for action in map(environment.resolve, map(environment.name_of, actions)):
        observation, reward, terminated, truncated, info = environment.step(action)
        seen.append((observation, reward))
        success = bool(info.get("success"))
        if terminated or truncated:
            break
    return seen, success


def _check_episode(first: Environment, second: Environment, seed: int) -> Iterator[Violation]:
    """Plays the same random actions in two used instances; then one step after the end."""
    first.reset(seed=seed)
    second.reset(seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(STEPS):
        action = first.resolve(first.random_action(rng))
        one, other = first.step(action), second.step(action)
        if one != other or first.drawing() != second.drawing():
            yield "step-deterministic", f"two instances gave {one!r} and {other!r}"
        yield from _check_step(one)
        yield from _check_state(first, one[0])
        if one[2] or one[3]:
            yield from _check_raises("step-after-end", first, action, RuntimeError)
            return
