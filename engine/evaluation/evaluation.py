"""An evaluation from plan to outcome: every requested environment, temperature, sample and seed has a row."""

from __future__ import annotations

from dataclasses import dataclass

from engine.config import EnvironmentConfig, RunConfig
from engine.errors import StarboardError
from engine.evaluation.models import EvaluatedModel
from engine.evaluation.results import Result, not_played
from engine.evaluation.summary import Summary, summarise
from engine.rollout.env_state_manager import EnvStateManager


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to play: each of `seeds`, `samples` times, in each environment at each temperature."""

    environments: list[EnvironmentConfig]
    seeds: list[int]
    samples: int
    temperatures: list[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Rows and summaries of a plan. `failure` ended it early; `complete` if every requested episode has a score."""

    plan: Plan
    model: str
    address: str
    results: list[Result]
    summaries: list[Summary]
    notes: list[str]
    failure: StarboardError | None

    @property
    def unscored(self) -> int:
        return sum(not result.scored for result in self.results)

    @property
    def complete(self) -> bool:
        return self.failure is None and not self.unscored


def evaluate(config: RunConfig, model_under_test: EvaluatedModel, plan: Plan) -> Outcome:
    """Plays the plan sample by sample, so that the first of several samples equals a single one."""
    manager = EnvStateManager(config.environments, groups=1, group_size=1, seed=config.seed)
    results: list[Result] = []
    summaries: list[Summary] = []
    failure: StarboardError | None = None
    for environment in plan.environments:
        for temperature in plan.temperatures:
            rows: list[Result] = []
            for sample in range(plan.samples):
                specs = manager.batch_of_seeds(environment, plan.seeds, sample=sample)
                if failure is None:
                    played = model_under_test.play(specs, temperature=temperature)
                    rows += played.results
                    failure = played.failure
                else:
                    rows += [
                        not_played(spec, model=model_under_test.name, temperature=temperature, error=str(failure))
                        for spec in specs
                    ]
            results += rows
            summaries.append(summarise(rows, samples=plan.samples))
    return Outcome(
        plan=plan,
        model=model_under_test.name,
        address=model_under_test.address,
        results=results,
        summaries=summaries,
        notes=[*model_under_test.notes(), *_notes(plan, results)],
        failure=failure,
    )


def _notes(plan: Plan, results: list[Result]) -> list[str]:
    notes = []
    if seen := sum(result.trained_on or False for result in results):
        notes.append(f"{seen} of {len(results)} episodes are of problems that the model was trained on in this run.")
    if plan.samples > 1 and 0 in plan.temperatures:
        notes.append("At temperature 0 the samples of a prompt differ only by the environment's luck.")
    if full := sum(result.stop == "context_full" for result in results):
        started = sum(result.stop == "context_full" and result.scored for result in results)
        notes.append(
            f"{full} episodes ended because the context was full: {started} of them after the first response, scored; "
            f"{full - started} before it, not scored."
        )
    if unscored := sum(not result.scored for result in results):
        notes.append(f"{unscored} of {len(results)} episodes have no score and are left out of every rate.")
    return notes
