"""The contract of `Environment`, checked by playing: what a broken environment does wrong, in words."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.environments.base import Environment
from engine.environments.registry import make_environment

INFO_KEYS = ("action_is_valid", "action_is_effective", "success")
CELLS = {"floor", "wall", "hole", "goal", "start", "target", "box", "box_on_target"}
AGENT_STATES = {"ok", "in_hole", "on_goal", "on_target"}
STEPS = 30


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken rule; `rule` names it, `detail` says what was seen."""

    rule: str
    detail: str


def check_environment(
    kind: str, parameters: dict[str, Any] | None = None, seeds: Iterable[int] = range(10)
) -> list[Finding]:
    """Every breach found over `seeds`; an empty list is a pass."""
    findings: list[Finding] = []
    for seed in seeds:
        first, second = (make_environment(kind, **(parameters or {})) for _ in range(2))
        findings += _check_episode(first, second, seed)
    return list({finding.rule: finding for finding in findings}.values())


def _check_episode(first: Environment, second: Environment, seed: int) -> list[Finding]:
    state = _global_state()
    findings = _compare("reset", first.reset(seed=seed)[0], second.reset(seed=seed)[0], seed)
    findings += _check_state(first, seed)
    findings += _check_solution(first, seed)
    first.reset(seed=seed)
    chance = np.random.default_rng(seed)
    for _ in range(STEPS):
        action = int(chance.integers(len(first.action_names())))
        mine, theirs = first.step(action), second.step(action)
        findings += (
            _compare("step", mine[:4], theirs[:4], seed) + _check_info(mine[4], seed) + _check_state(first, seed)
        )
        if mine[0] != first.render():
            findings.append(Finding("observation-is-render", f"seed {seed}: step returned another text than render()"))
        if mine[2] or mine[3]:
            findings += _check_end(first, action, seed)
            break
    if _global_state() != state:
        findings.append(Finding("global-randomness", f"seed {seed}: numpy's global random state was used"))
    return findings


def _global_state() -> list[int]:
    """The state of numpy's global generator, which no environment may move."""
    state: Any = np.random.get_state()
    return list(state[1])


def _compare(where: str, mine: Any, theirs: Any, seed: int) -> list[Finding]:
    return [] if mine == theirs else [Finding(f"{where}-deterministic", f"seed {seed}: {mine!r} and {theirs!r}")]


def _check_info(info: dict[str, Any], seed: int) -> list[Finding]:
    return [
        Finding("info-keys", f"seed {seed}: info[{key!r}] is {info.get(key)!r}; it must be a bool")
        for key in INFO_KEYS
        if not isinstance(info.get(key), bool)
    ]


def _check_state(environment: Environment, seed: int) -> list[Finding]:
    findings = []
    if not environment.render():
        findings.append(Finding("observation", f"seed {seed}: the observation is empty"))
    names = environment.action_names()
    if len({name.lower() for name in names}) != len(names) or not names:
        findings.append(Finding("action-names", f"seed {seed}: {names} are not distinct names"))
    return findings + _check_drawing(environment.drawing(), seed)


def _check_drawing(drawing: dict[str, Any], seed: int) -> list[Finding]:
    try:
        json.dumps(drawing, allow_nan=False)
    except (TypeError, ValueError) as error:
        return [Finding("drawing-json", f"seed {seed}: {error}")]
    problem = {"grid": _grid_problem, "arms": _arms_problem}.get(drawing.get("type", ""), _unknown_problem)(drawing)
    return [Finding("drawing", f"seed {seed}: {problem}")] if problem else []


def _grid_problem(drawing: dict[str, Any]) -> str:
    rows = drawing["cells"]
    if len(rows) != drawing["rows"] or any(len(row) != drawing["columns"] for row in rows):
        return "cells do not have the rows and columns that are said"
    strange = {cell for row in rows for cell in row} - CELLS
    if strange:
        return f"unknown cells {sorted(strange)}"
    return "" if drawing["agent_state"] in AGENT_STATES else f"unknown agent_state {drawing['agent_state']!r}"


def _arms_problem(drawing: dict[str, Any]) -> str:
    good = all({"name", "pulled", "reward"} <= set(arm) for arm in drawing["arms"])
    return "" if good else "an arm lacks name, pulled or reward"


def _unknown_problem(drawing: dict[str, Any]) -> str:
    return f"unknown type {drawing.get('type')!r}; use grid or arms"


def _check_solution(environment: Environment, seed: int) -> list[Finding]:
    """Plays the solution; a slip may spoil it, so only a kind that never slips is held to it."""
    solution = environment.solution()
    if solution is None:
        return [Finding("solvable", f"seed {seed}: the first state has no solution")]
    if getattr(environment.config, "success_rate", 1.0) < 1:
        return []
    success = False
    for action in solution:
        _, _, terminated, truncated, info = environment.step(action)
        success = info["success"]
        if terminated or truncated:
            break
    return [] if success else [Finding("solution", f"seed {seed}: playing solution() does not succeed")]


def _check_end(environment: Environment, action: int, seed: int) -> list[Finding]:
    try:
        environment.step(action)
    except RuntimeError:
        return []
    return [Finding("step-after-end", f"seed {seed}: step after the end must raise RuntimeError")]
