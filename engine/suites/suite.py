"""A suite: environments, held-out problems of each, and how they are sampled. No site, no model."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import Field, StringConstraints, model_validator

from engine.config import EnvironmentConfig
from engine.rollout.context_windows import ContextWindow, FullContext
from engine.section import Section

SLUG = r"[a-z0-9]+(-[a-z0-9]+)*"
MOST_ITEMS = 32
MOST_PROBLEMS = 100_000  # of an item
MOST_SAMPLES = 1024
LARGEST_SEED = 2**32 - 1
IDENTITY = re.compile(r"[0-9a-f]{16}")

Identity = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]


class ItemSettings(Section):
    """One environment of a suite, without its problems."""

    name: str = Field(min_length=1, max_length=60, description="Name of the item, different from the others'.")
    environment: EnvironmentConfig = Field(description="Environment with its parameters and budgets.")
    samples: int = Field(1, ge=1, le=MOST_SAMPLES, description="Episodes per problem. 2 or more give pass@k.")
    temperature: float = Field(0.5, ge=0, le=5, description="Sampling temperature. 0 is greedy.")
    top_p: float = Field(
        1.0, gt=0, le=1, description="Sample from the likeliest tokens whose probabilities reach this. 1: from all."
    )
    top_k: int = Field(0, ge=0, le=1_000_000, description="Sample from this many of the likeliest tokens. 0: from all.")
    think: bool = Field(True, description="Ask for <think>…</think> before the answer.")
    context: ContextWindow = Field(FullContext(), description="What the model sees of earlier turns.")
    max_context_tokens: int = Field(1024, ge=32, le=1_000_000, description="Tokens of one context.")

    @model_validator(mode="before")
    @classmethod
    def _tag_is_name(cls, data: Any) -> Any:
        """Results are stored by the environment's tag, so that of an item is its name."""
        if not isinstance(data, dict) or not isinstance(data.get("environment"), dict):
            return data
        return {**data, "environment": {**data["environment"], "tag": data.get("name", "")}}


class SuiteItem(ItemSettings):
    """An item with its problems: `problems` are their identities, `seeds` the seeds that start them, in order."""

    seeds: list[Seed] = Field(min_length=1, max_length=MOST_PROBLEMS)
    problems: list[Identity] = Field(min_length=1, max_length=MOST_PROBLEMS)

    @model_validator(mode="after")
    def _one_seed_per_problem(self) -> SuiteItem:
        if len(self.seeds) != len(self.problems):
            raise ValueError(f"problems: {len(self.problems)} for {len(self.seeds)} seeds; give one for each.")
        if len(set(self.problems)) != len(self.problems):
            raise ValueError("problems: one is listed twice; use samples to play a problem several times.")
        return self

    @property
    def episodes(self) -> int:
        return len(self.problems) * self.samples


class Suite(Section):
    """What is evaluated, all of it fixed. `name` and `version` label it; `comparability` says what makes two equal."""

    name: str = Field(pattern=rf"^{SLUG}$", max_length=60, description="Name in addresses and commands.")
    title: str = Field("", max_length=80, description="Name on pages. Blank: the name.")
    version: int = Field(1, ge=1, description="Counts the changes.")
    description: str = Field("", max_length=2000, description="What it measures.")
    items: list[SuiteItem] = Field(min_length=1, max_length=MOST_ITEMS)

    @model_validator(mode="after")
    def _names_differ(self) -> Suite:
        names = [item.name for item in self.items]
        if len(set(names)) != len(names):
            raise ValueError(f"items: names must differ, got {', '.join(names)}.")
        return self

    @property
    def label(self) -> str:
        return f"{self.name} v{self.version}"

    @property
    def episodes(self) -> int:
        return sum(item.episodes for item in self.items)

    def with_samples(self, samples: int | None) -> Suite:
        """The same with another number of samples per problem in every item; None leaves each as it is."""
        if samples is None:
            return self
        items = [item.model_copy(update={"samples": samples}) for item in self.items]
        return self.model_copy(update={"items": items})
