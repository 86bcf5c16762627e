"""Plays a suite with a model: what is missing in the evaluation's directory, item by item and sample by sample."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from engine.config import RunConfig
from engine.errors import EnvironmentFault, StarboardError
from engine.evaluation.models import EvaluatedModel, PlayedEpisode
from engine.evaluation.results import Result
from engine.policies.truncation import Truncation
from engine.rollout.env_state_manager import EpisodeSpec, chance_seed
from engine.rollout.records import record_of
from engine.suites.comparability import conditions_of, key_of
from engine.suites.outcomes import Outcome
from engine.suites.policy import Policy
from engine.suites.store import Store
from engine.suites.suite import Suite, SuiteItem
from engine.suites.summary import SuiteSummary
from engine.versions import versions_of

SPLIT = "validation"  # of trajectories on held-out problems


def about(suite: Suite, policy: Policy) -> dict[str, Any]:
    """What `about.json` has."""
    conditions = conditions_of(suite)
    return {
        "suite": suite.model_dump(mode="json"),
        "key": key_of(conditions),
        "conditions": conditions,
        "policy": policy.fields(),
        "weights": policy.weights,
        "versions": versions_of("torch", "transformers", "httpx2"),
        "began": time.time(),
        "sessions": 1,
    }


def run_config(item: SuiteItem, *, threads: int = 0) -> RunConfig:
    """The settings of a run that matter for playing the item."""
    return RunConfig.model_validate(
        {
            "environments": [item.environment.model_dump(mode="json")],
            "rollout": {
                "think": item.think,
                "context": item.context.model_dump(mode="json"),
                "max_context_tokens": item.max_context_tokens,
            },
            "threads": threads,
        }
    )


def play_suite(suite: Suite, model: EvaluatedModel, policy: Policy, store: Store) -> SuiteSummary:
    """Plays what the store lacks, and returns the numbers of all.

    If the model or an environment fails as a whole, the episodes so far are stored and the failure is raised; a later
    call goes on from there.
    """
    store.begin(about(suite, policy))
    failure: StarboardError | None = None
    try:
        for item in suite.items:
            model.use(run_config(item).rollout)
            for specs in _batches(item, store, model.at_once):
                failure = failure or _play(item, specs, model, policy, store)
    finally:
        summary = store.end()
    if failure is not None:
        raise failure
    if not summary.scored:
        first = next(iter(store.outcomes.values()))
        raise EnvironmentFault(
            f"None of {summary.planned} episodes has a score. The first: {first.error or first.stop}.",
            remedy="Correct that, then evaluate again; if the context was full, use a model with a longer one.",
        )
    return summary


def _batches(item: SuiteItem, store: Store, at_once: int) -> Iterator[list[EpisodeSpec]]:
    missing = [
        EpisodeSpec(
            environment=item.environment,
            group=index,
            member=sample,
            seed=seed,
            chance_seed=chance_seed(seed, sample),
            split="held_out",
        )
        for sample in range(item.samples)
        for index, (seed, problem) in enumerate(zip(item.seeds, item.problems, strict=True))
        if not store.is_finished(item.name, problem, sample)
    ]
    for first in range(0, len(missing), at_once):
        yield missing[first : first + at_once]


def _play(
    item: SuiteItem, specs: list[EpisodeSpec], model: EvaluatedModel, policy: Policy, store: Store
) -> StarboardError | None:
    def over(played: PlayedEpisode) -> None:
        spec = specs[played.index]
        problem = item.problems[spec.group]
        if played.result.problem and played.result.problem != problem:
            raise ChangedProblem(item, spec.seed)
        record = record_of(played.trajectory, step=policy.step or 0, split=SPLIT, piece=played.piece)
        store.add(_outcome(item, spec, problem, played.result), record)

    truncation = Truncation(top_p=item.top_p, top_k=item.top_k)
    return model.play(specs, temperature=item.temperature, truncation=truncation, over=over).failure


class ChangedProblem(StarboardError):
    """A seed starts another problem than the suite has."""

    def __init__(self, item: SuiteItem, seed: int) -> None:
        super().__init__(
            f"Seed {seed} of {item.name!r} starts a different problem from the one in the suite: the environment has "
            "changed since.",
            remedy="Make a new version of the suite.",
        )


def _outcome(item: SuiteItem, spec: EpisodeSpec, problem: str, result: Result) -> Outcome:
    return Outcome(
        item=item.name,
        problem=problem,
        seed=spec.seed,
        sample=spec.member,
        success=result.success,
        episode_return=result.raw_return,
        turns=result.turns,
        actions=result.actions,
        tokens=result.tokens,
        prompt_tokens=result.prompt_tokens,
        malformed=result.parse_failures,
        stop=result.stop,
        seconds=result.seconds,
        error=result.error,
        trained_on=result.trained_on,
        file="",
        offset=0,
        length=0,
    )
