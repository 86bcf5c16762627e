"""Shortest solutions of gymnasium environments that publish their transition table, such as the toy-text ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from engine.environments.base import UNKNOWN, Solution

MOST_STATES = 20_000


def plan(environment: Any, is_success: Callable[[float, bool], bool]) -> Solution:
    """A shortest list of actions if nothing slips: each action is taken to have its likeliest outcome.

    `UNKNOWN` for an environment without a table `P` and a state `s`, or one that is too large.
    """
    table, start = getattr(environment, "P", None), getattr(environment, "s", None)
    if table is None or start is None or len(table) > MOST_STATES:
        return UNKNOWN
    queue: deque[tuple[int, list[int]]] = deque([(int(start), [])])
    seen = {int(start)}
    while queue:
        state, path = queue.popleft()
        for action, outcomes in table[state].items():
            _, after, reward, terminated = max(outcomes, key=lambda outcome: outcome[0])
            if terminated and is_success(float(reward), True):
                return [*path, int(action)]
            if not terminated and int(after) not in seen:
                seen.add(int(after))
                queue.append((int(after), [*path, int(action)]))
    return None
