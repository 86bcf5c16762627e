"""The base class of environments: a `gymnasium.Env` whose observation is the text the model reads.

An environment owns its rules, its text and its drawing. It knows nothing of prompts, budgets, penalties, tokens or
groups: those belong to `engine.rollout`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import Any, ClassVar, Final, Literal

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from pydantic import Field

from engine.section import Section

Action = int | str  # the id of a named action, or free text
Drawing = dict[str, Any]
Info = dict[str, Any]
Split = Literal["train", "held_out"]
Reduction = Literal["last", "sum", "mean", "max", "min"]


class Unknown(Enum):
    """The type of `UNKNOWN`: no statement about a solution, neither that there is one nor that there is none."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN
Solution = list[Any] | Literal[Unknown.UNKNOWN] | None  # actions; not known; proved impossible


SERVER_ADDRESS = "The workers send requests to it, and it may be inside your network."
SERVER_FILE = "It names files of the server, whose content everyone with access to the run would read."


class EnvironmentParameters(Section):
    """Base of each kind's parameters: no extra fields, immutable, every field with a `description`."""


def server_address(description: str) -> Any:
    """A parameter with an address that workers send requests to: only an administrator may set it."""
    return Field("", max_length=500, description=description, json_schema_extra={"restricted": SERVER_ADDRESS})


def server_file(description: str) -> Any:
    """A parameter that names a file or directory of the server: only an administrator may set it, as its content ends
    up in prompts."""
    return Field("", max_length=1000, description=description, json_schema_extra={"restricted": SERVER_FILE})


class Environment(gymnasium.Env[str, Any]):
    """One episode of a text environment.

    `reset(seed=...)` determines the problem and its first observation, so the members of a group, who share a seed,
    share a prompt. `reset(seed=..., options={"chance_seed": n})` seeds only random outcomes, such as slips and random
    rewards, which must differ between members; it defaults to the seed. Two instances with the same parameters, seed
    and chance seed behave identically for the same actions. Seeds are below 2^32.

    In each state an environment either names its actions, and `step` takes the index of one in `action_names()`; or
    `action_names()` is None, and `step` takes any text. After the end of the episode, or before the first reset, it
    raises `RuntimeError`; for an id that is none, or an action of the wrong type, `ValueError`. Text that means nothing
    in the state is no error: the state stays as it is, and `action_is_valid` is False. The info of `step` always has
    `action_is_valid`, `action_is_effective` (whether anything changed) and `success`, all bool.
    """

    kind: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]  # one sentence for the list of environments
    Config: ClassVar[type[EnvironmentParameters]]
    # Raised when rules, texts or rewards change, so that earlier results no longer compare with later ones.
    version: ClassVar[int] = 1
    default_instruction: ClassVar[str]  # one or two sentences for the system prompt; users may replace it
    default_budget: ClassVar[dict[str, int]]  # max_turns, max_actions_per_turn, max_actions, max_response_tokens
    # fields of `EnvironmentLimits` where the usual limits do not do, such as {"step_seconds": 300} for a slow verifier
    default_limits: ClassVar[Mapping[str, float]] = {}
    needs: ClassVar[str] = ""  # what does not ship with it, such as "a server"
    restricted: ClassVar[str] = ""  # why only an administrator may configure it; empty: everyone may
    separator: ClassVar[str | None] = "||"  # between the actions of an answer; None: the answer is one action
    answer_form: ClassVar[str] = "action"  # what the prompt shows inside <answer>, such as "expression"
    # How problems are kept for evaluation. hash: by the hash of `problem()`. own: `reset` reads `options["split"]`,
    # "train" or "held_out", as environments with data or with a variant for tests do. none: nothing is kept, as all
    # seeds have the same problem.
    split_by: Literal["hash", "own", "none"] = "hash"
    # Numbers in the info of `step` that become metrics `env/<tag>/<name>`, and how an episode's are reduced to one.
    info_metrics: ClassVar[Mapping[str, Reduction]] = {}
    # What a new installation offers: by name, fields of `EnvironmentConfig` besides `kind`. The tests try each of them.
    examples: ClassVar[Mapping[str, Mapping[str, Any]]]

    metadata: dict[str, Any] = {"render_modes": ["ansi"]}
    _generator: np.random.Generator | None = None
    _pending_seed: int | None = None

    def __init__(self, config: EnvironmentParameters) -> None:
        self.config = config

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        """Subclasses call it first. It seeds `np_random`, which is made when something draws from it: making one takes
        longer than the rest of some resets, and most environments draw from generators of their own."""
        if type(seed) is int and seed >= 0:
            self._np_random_seed, self._pending_seed = seed, seed
        else:  # None keeps the generator; gymnasium says what is wrong with anything else
            super().reset(seed=seed)
        return "", {}

    def seeded(self, seed: int | None) -> int:
        """To be called first in `reset`, in place of `super().reset`, where problems are made from seeds: the seed of
        the problem, drawn where none is given."""
        Environment.reset(self, seed=seed)
        return int(self.np_random.integers(2**31)) if seed is None else seed

    @property
    def _np_random(self) -> np.random.Generator | None:
        """Gymnasium's attribute behind `np_random`."""
        if self._pending_seed is not None:
            self._generator, _ = seeding.np_random(self._pending_seed)
            self._pending_seed = None
        return self._generator

    @_np_random.setter
    def _np_random(self, generator: np.random.Generator | None) -> None:
        self._generator, self._pending_seed = generator, None

    @abstractmethod
    def action_names(self) -> list[str] | None:
        """The names of all actions in this state, in the order of their ids; None if an action is free text."""

    def suggestions(self) -> list[str]:
        """Where actions are free text: texts that mean something in this state, for a person who plays. Empty where
        they cannot be listed."""
        return []

    @abstractmethod
    def describe(self) -> str:
        """The legend for the system prompt: symbols and actions with these parameters."""

    @abstractmethod
    def render(self) -> str:
        """The observation of the current state, as returned by `reset` and `step`."""

    @abstractmethod
    def drawing(self) -> Drawing:
        """The current state as JSON for the viewer, in one of the formats of `drawing_format`."""

    def solution(self) -> Solution:
        """A shortest list of actions from the current state to success if nothing slips; None if success cannot be
        reached; `UNKNOWN` if neither is known. Where names change with the state it lists names, not ids."""
        return UNKNOWN

    def problem(self) -> str:
        """The canonical text of the problem that `reset` started: equal for equal problems, whatever their seeds and
        however they are written. Called after `reset` and before any step."""
        return self.render()

    def resolve(self, text: str) -> Action | None:
        """The action that `text` means in this state: the id of the name it is, whatever its case, or the text itself
        where actions are free text; None if there is no such action."""
        names = self.action_names()
        if names is None:
            return text
        if text in names:
            return names.index(text)
        return next((index for index, name in enumerate(names) if name.lower() == text.lower()), None)

    def name_of(self, action: Action) -> str:
        """The text that a response writes for `action` in this state."""
        if isinstance(action, str):
            return action
        return (self.action_names() or [])[action]

    def random_action(self, rng: np.random.Generator) -> str:
        """What a random player writes in this state. Environments of free text write something of their grammar."""
        names = self.action_names()
        return names[int(rng.integers(len(names)))] if names else ""

    def scripted_action(self, rng: np.random.Generator) -> str:
        """What the environment's scripted player writes where `solution` is of no help: by default something random."""
        return self.random_action(rng)

    def observe(self) -> str:
        return self.render()

    def checked(self, action: Any, *, over: bool) -> int:
        """Validates the id of a named action; to be called first in `step`. Raises for an invalid one, or if the
        episode is over."""
        self._check_in_progress(over=over)
        if not self.action_space.contains(action):
            names = ", ".join(f"{index} {name}" for index, name in enumerate(self.action_names() or []))
            raise ValueError(f"{action!r} is not an action of {self.kind}; the actions are {names}.")
        return int(action)

    def checked_text(self, action: Any, *, over: bool) -> str:
        """Validates a free-text action; to be called first in `step`. Raises for anything but text, or if the episode
        is over."""
        self._check_in_progress(over=over)
        if not isinstance(action, str):
            raise ValueError(f"{action!r} is not an action of {self.kind}; its actions are text.")
        return action

    def _check_in_progress(self, *, over: bool) -> None:
        if over:
            raise RuntimeError("No episode is in progress; call reset before step.")


def split_of(options: Mapping[str, Any] | None) -> Split:
    """The split that `reset` is asked for; train if none is named. For environments with `split_by` own."""
    return "held_out" if (options or {}).get("split") == "held_out" else "train"


def step_info(*, valid: bool = True, effective: bool, success: bool, **numbers: float) -> Info:
    """The info of a step; `numbers` are those declared in `info_metrics`."""
    return {"action_is_valid": valid, "action_is_effective": effective, "success": success, **numbers}
