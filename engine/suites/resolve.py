"""From a draft, which says where a suite's problems come from, to the suite with its fixed list of held-out ones.

A problem is kept by its identity and by the seed that starts it. A suite never has a problem that a run may train on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass

from pydantic import Field

from engine.config import EnvironmentConfig
from engine.environments import environment_of
from engine.environments.problems import reset_in_split, split_of_problem
from engine.errors import ConfigError
from engine.section import Section
from engine.suites.suite import LARGEST_SEED, MOST_ITEMS, MOST_PROBLEMS, SLUG, ItemSettings, Seed, Suite, SuiteItem

FIRST_SEED = 2_500_000_000  # beyond the seeds of training and of runs' own evaluations
FEW_NEW = 400  # seeds in a row without a new problem, after which there are no more
SHOWN = 5  # of many training problems


class ItemDraft(ItemSettings):
    """An item whose problems are drawn: `count` held-out ones from `first_seed` on, or those of `seeds`."""

    count: int = Field(
        128,
        ge=1,
        le=MOST_PROBLEMS,
        description="Held-out problems to draw, all different. Ignored if seeds are given.",
    )
    first_seed: Seed = Field(FIRST_SEED, description="First seed that problems are drawn from.")
    seeds: list[Seed] = Field(
        default_factory=list, max_length=MOST_PROBLEMS, description="Seeds of the problems, instead of drawing them."
    )


class SuiteDraft(Section):
    name: str = Field(
        pattern=rf"^{SLUG}$",
        max_length=60,
        description="In addresses and commands: lower-case letters and digits, with hyphens between words.",
    )
    title: str = Field("", max_length=80, description="Name on pages. Blank: the name.")
    version: int = Field(1, ge=1)
    description: str = Field("", max_length=2000, description="What it measures.")
    items: list[ItemDraft] = Field(min_length=1, max_length=MOST_ITEMS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problems:
    """Seeds, and the identities of the problems that they start. `training` are those of given seeds that a run may
    train on."""

    seeds: list[int]
    identities: list[str]
    training: list[int]


class TrainingProblems(ConfigError):
    """A suite with problems that a run may train on."""

    def __init__(self, suite: str, item: str, seeds: Sequence[int]) -> None:
        super().__init__(
            f"Suite {suite!r} has training problems: in {item!r} those of seeds {_some(seeds)}.",
            remedy="Leave these seeds out, or give a first seed and a count, which draw held-out problems only.",
        )


Find = Callable[[ItemDraft], Problems]


def resolve(draft: SuiteDraft, *, find: Find | None = None) -> Suite:
    """The suite with its problems, which `find` looks up; `ConfigError` if one of them belongs to training."""
    items = []
    for item in draft.items:
        found = (find or problems_of)(item)
        if found.training:
            raise TrainingProblems(draft.name, item.name, found.training)
        fields = {name: getattr(item, name) for name in ItemSettings.model_fields}
        items.append(SuiteItem(**fields, seeds=found.seeds, problems=found.identities))
    fields = {name: getattr(draft, name) for name in SuiteDraft.model_fields if name != "items"}
    return Suite(**fields, items=items)


def problems_of(item: ItemDraft) -> Problems:
    if item.seeds:
        return given_problems(item.environment, item.seeds)
    return held_out_problems(item.environment, first_seed=item.first_seed, count=item.count)


def held_out_problems(
    config: EnvironmentConfig, *, first_seed: int, count: int, seconds: float = float("inf")
) -> Problems:
    """The first `count` different held-out problems from `first_seed` on; fewer if there are no more."""
    until = time.monotonic() + seconds
    seeds: dict[str, int] = {}
    since_new = 0
    with closing(environment_of(config)) as environment:
        seed = first_seed
        while len(seeds) < count and since_new < FEW_NEW and seed <= LARGEST_SEED:
            found = reset_in_split(environment, seed=seed, split="held_out")
            if not found.in_split:
                raise ConfigError(
                    f"{config.tag!r} keeps no problems for evaluation, so all of them may be trained on.",
                    remedy="Leave it out, or choose parameters with which its problems differ by seed.",
                )
            identity = f"{found.problem:016x}"
            since_new = since_new + 1 if identity in seeds else 0
            seeds.setdefault(identity, found.seed)
            seed += 1
            if time.monotonic() > until:
                raise ConfigError(
                    f"In {seconds:g} s only {len(seeds)} of {count} problems of {config.tag!r} were found.",
                    remedy="Ask for fewer problems.",
                )
    return Problems(seeds=list(seeds.values()), identities=list(seeds), training=[])


def given_problems(config: EnvironmentConfig, seeds: Sequence[int]) -> Problems:
    """The problems of exactly these seeds."""
    identities: list[str] = []
    training: list[int] = []
    with closing(environment_of(config)) as environment:
        for seed in seeds:
            found = reset_in_split(environment, seed=seed, split="held_out")
            if found.seed != seed or not found.in_split:
                training.append(seed)
            identities.append(f"{found.problem:016x}")
    return Problems(seeds=list(seeds), identities=identities, training=training)


def require_held_out(suite: Suite) -> None:
    """`ConfigError` naming the suite's training problems, by their identities alone; for documents from elsewhere."""
    for item in suite.items:
        with closing(environment_of(item.environment)) as environment:
            by_hash = environment.split_by == "hash"
        if not by_hash:
            continue
        pairs = zip(item.seeds, item.problems, strict=True)
        training = [seed for seed, problem in pairs if split_of_problem(int(problem, 16)) == "train"]
        if training:
            raise ConfigError(
                f"Suite {suite.label!r} has training problems: in {item.name!r} those of seeds {_some(training)}.",
                remedy="Leave them out: a suite may only have problems that no run trains on.",
            )


def _some(seeds: Iterable[int]) -> str:
    listed = list(seeds)
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return ", ".join(str(seed) for seed in listed[:SHOWN]) + more
