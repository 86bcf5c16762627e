"""A two-armed bandit: one arm pays a small reward for sure, the other a larger one sometimes. Their names are a
hint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import gymnasium
import numpy as np
from pydantic import Field

from engine.environments.base import Drawing, Environment, EnvironmentParameters, Info, Solution, split_of, step_info
from engine.environments.spaces import discrete

# (safe-sounding, risky-sounding), after RAGEN's pairs
TRAIN_PAIRS = (
    ("Teacher", "Trader"),
    ("Nurse", "StartupFounder"),
    ("Librarian", "Investor"),
    ("Accountant", "StockBroker"),
    ("Engineer", "RealEstateAgent"),
    ("Pharmacist", "Musician"),
    ("Clerk", "Freelancer"),
    ("Technician", "Youtuber"),
    ("Planner", "Artist"),
    ("Postman", "Pilot"),
    ("Banker", "VentureCapitalist"),
    ("Gardener", "Cryptominer"),
)
TEST_PAIRS = (
    ("Receptionist", "Explorer"),
    ("Archivist", "Filmmaker"),
    ("Bookkeeper", "Consultant"),
    ("SocialWorker", "Photographer"),
    ("Mechanic", "GameDesigner"),
    ("Secretary", "Entrepreneur"),
    ("Cashier", "DataScientist"),
    ("CivilServant", "StartupAccelerator"),
)
CHARSET = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,:\n-")


class BanditParameters(EnvironmentParameters):
    split: Literal["train", "test"] = Field(
        "train", description="train: 12 pairs of names in training and 8 others in evaluation. test: those 8 in both."
    )
    reversed: bool = Field(False, description="The safe-sounding name is the risky arm (RAGEN's BanditRev).")
    safe_reward: float = Field(0.1, ge=-10, le=10, description="What the safe arm always pays.")
    risky_reward: float = Field(1.0, ge=-10, le=10, description="What the risky arm pays when it pays.")
    risky_probability: float = Field(0.25, ge=0, le=1, description="Chance that the risky arm pays; else it gives 0.")


class Bandit(Environment):
    """Choose one of two arms by its name.

    Description: one arm pays a small reward for sure, the other a larger one sometimes. The names hint at which is
        which: a librarian is safe, an investor is not.
    Actions: the names of the two arms.
    Observations: `Arms: Teacher, Trader`; after the choice, what it paid.
    Starting state: a pair of names and their order, drawn uniformly. Evaluation draws from eight other pairs than
        training.
    Rewards: `safe_reward` for the safe arm; for the other `risky_reward` with `risky_probability`, else 0.
    Episode end: after one choice. Success is having chosen the arm that pays more on average.
    Arguments: `BanditParameters`.
    Differences from RAGEN: all members of a group see the same names in the same order, where RAGEN draws new ones
        for each. The system prompt states what the safe arm pays. Success follows the expected rewards; RAGEN's is
        always the risky arm.
    """

    kind: ClassVar[str] = "bandit"
    title: ClassVar[str] = "Bandit"
    summary: ClassVar[str] = "Choose one of two arms by its name: a small sure reward or a larger uncertain one."
    Config = BanditParameters
    default_instruction: ClassVar[str] = "Choose the arm that pays more on average, by what its name suggests."
    default_budget: ClassVar[dict[str, int]] = {
        "max_turns": 1,
        "max_actions_per_turn": 1,
        "max_actions": 1,
        "max_response_tokens": 40,
    }
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "Bandit": {},
        "BanditRev": {"parameters": {"reversed": True}},
        "BanditTest": {"parameters": {"split": "test"}},
    }
    config: BanditParameters

    def __init__(self, config: BanditParameters) -> None:
        super().__init__(config)
        self.action_space = discrete(2)
        self.observation_space = gymnasium.spaces.Text(min_length=1, max_length=400, charset=CHARSET)
        self.arms: list[str] = ["", ""]
        self.risky = 0
        self.pulled: int | None = None
        self.reward = 0.0
        self.over = True
        self._rng = np.random.default_rng(0)
        self.split_by = "own" if config.split == "train" else "none"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        """`seed` determines names and their order; `options["chance_seed"]` only whether the risky arm pays."""
        seed = self.seeded(seed)
        problem = np.random.default_rng([seed, 2])
        pairs = TEST_PAIRS if self.config.split == "test" or split_of(options) == "held_out" else TRAIN_PAIRS
        safe, risky = pairs[int(problem.integers(len(pairs)))]
        if self.config.reversed:
            safe, risky = risky, safe
        self.risky = int(problem.integers(2))
        self.arms = [safe, safe]
        self.arms[self.risky] = risky
        self.pulled, self.reward, self.over = None, 0.0, False
        self._rng = np.random.default_rng([int((options or {}).get("chance_seed", seed)), 3])
        return self.render(), {}

    def step(self, action: int) -> tuple[str, float, bool, bool, Info]:
        self.pulled = self.checked(action, over=self.over)
        self.over = True
        pays = self._rng.random() < self.config.risky_probability
        won = self.config.risky_reward if pays else 0.0
        self.reward = won if self.pulled == self.risky else self.config.safe_reward
        info = step_info(effective=True, success=self.pulled == self._best())
        return self.render(), float(self.reward), True, False, info

    def action_names(self) -> list[str]:
        return list(self.arms)

    def describe(self) -> str:
        """States what the safe arm pays, and of the other only whether it can pay more, so that the name is needed."""
        safe, risky, chance = self.config.safe_reward, self.config.risky_reward, self.config.risky_probability
        if chance in (0, 1):
            other = f"The other always pays {risky * chance:g}."
        elif risky > safe:
            other = "The other is a gamble: it may pay more, or nothing."
        else:
            other = f"The other is a gamble: it may pay {risky:g}, or nothing."
        return f"One arm always pays {safe:g}. {other}"

    def render(self) -> str:
        if self.pulled is None:
            return f"Arms: {self.arms[0]}, {self.arms[1]}"
        return f"{self.arms[self.pulled]}: {self.reward:g} points"

    def drawing(self) -> Drawing:
        return {
            "type": "arms",
            "arms": [
                {"name": name, "pulled": self.pulled == i, "reward": self.reward if self.pulled == i else None}
                for i, name in enumerate(self.arms)
            ],
        }

    def problem(self) -> str:
        return " ".join(sorted(self.arms))

    def solution(self) -> Solution:
        if self.pulled is None:
            return [self._best()]
        return [] if self.pulled == self._best() else None

    def _best(self) -> int:
        """The arm with the higher expected reward; the risky one when they are equal."""
        expected = self.config.risky_reward * self.config.risky_probability
        return self.risky if expected >= self.config.safe_reward else 1 - self.risky
