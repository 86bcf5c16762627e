"""Sweeps as the API describes them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from engine.sweeps.effects import Estimate
from engine.sweeps.plan import Method, SweepPlan
from webapp.runs.priorities import PriorityName, priority_name
from webapp.sweeps.models import Sweep, SweepState
from webapp.sweeps.results import SweepResults


class CountsAnswer(BaseModel):
    total: int
    finished: int
    failed: int
    stopped: int
    pruned: int
    planned: int
    live: int = Field(description="Queued, or with an engine.")
    ended: int


class SweepAnswer(BaseModel):
    id: int
    name: str
    state: SweepState
    owner: str | None
    method: Method
    axes: list[str]
    seeds: list[int]
    at_once: int
    retries: int
    priority: PriorityName
    preset: str
    environment: str
    created_at: str
    ended_at: str | None
    stopped_because: str
    counts: CountsAnswer
    seconds_left: float | None = Field(description="By the steps of its own runs; null before the first.")


class EstimateAnswer(BaseModel):
    """A mean over training seeds with its 95% t interval."""

    mean: float
    low: float | None
    high: float | None
    seeds: int = Field(description="Seeds that have a run of everything that is averaged.")
    runs: int


class LevelAnswer(EstimateAnswer):
    label: str


class EffectAnswer(BaseModel):
    """The mean over all other axes and seeds at each value of an axis."""

    axis: str
    levels: list[LevelAnswer]


class MemberAnswer(BaseModel):
    seed: int
    run: str | None = Field(description="The ID of the run; null if it is planned.")
    state: str | None
    score: float | None
    problem: str = Field(description="Why it could not be launched.")


class ConfigurationAnswer(BaseModel):
    labels: dict[str, str]
    changes: dict[str, Any] = Field(description="Of the base, by dotted field.")


class TrainedConfiguration(ConfigurationAnswer):
    estimate: EstimateAnswer | None
    pruned: str = Field(description="Why it ended early; empty if it did not.")
    runs: list[MemberAnswer]


class BestAnswer(BaseModel):
    """The highest of several means is too high on average."""

    labels: dict[str, str]
    changes: dict[str, Any]
    estimate: EstimateAnswer
    compared: int = Field(description="Configurations.")
    equals: list[dict[str, str]] | None = Field(
        description="Those that are not significantly different from it; null if they were not compared."
    )


class ImprovementAnswer(BaseModel):
    after: int = Field(description="Configurations that were complete.")
    value: float
    labels: dict[str, str]


class SweepDetail(SweepAnswer):
    description: str = Field(description="The question that it answers.")
    notes: str = Field(description="Markdown.")
    curves: list[str] = Field(description="Metrics that its page draws.")
    measure: str
    plan: SweepPlan
    config: dict[str, Any] = Field(description="The base: a `RunConfig`.")
    best: BestAnswer | None
    improvements: list[ImprovementAnswer] = Field(description="History of the best.")
    effects: list[EffectAnswer]
    configurations: list[TrainedConfiguration]


def sweep_answer(sweep: Sweep) -> dict[str, Any]:
    return _answer(SweepResults(sweep, sweep.parsed_plan().objective))


def _answer(found: SweepResults) -> dict[str, Any]:
    sweep, plan = found.sweep, found.plan
    return {
        "id": sweep.pk,
        "name": sweep.name,
        "state": sweep.state,
        "owner": sweep.owner.get_username() if sweep.owner else None,
        "method": plan.method,
        "axes": found.axes,
        "seeds": plan.seeds,
        "at_once": sweep.at_once,
        "retries": sweep.retries,
        "priority": priority_name(sweep.priority),
        "preset": sweep.preset,
        "environment": ", ".join(found.environments),
        "created_at": sweep.created_at.isoformat(),
        "ended_at": sweep.ended_at.isoformat() if sweep.ended_at else None,
        "stopped_because": sweep.stopped_because,
        "counts": found.counts(),
        "seconds_left": found.seconds_left() if sweep.state == SweepState.RUNNING else None,
    }


def sweep_detail(sweep: Sweep) -> dict[str, Any]:
    found = SweepResults(sweep, sweep.parsed_plan().objective)
    best = found.best
    return {
        **_answer(found),
        "description": sweep.description,
        "notes": sweep.notes,
        "curves": sweep.curves,
        "measure": found.measure,
        "plan": found.plan.model_dump(mode="json"),
        "config": sweep.config,
        "best": {
            "labels": dict(best.point.labels),
            "changes": dict(best.point.changes),
            "estimate": _estimate(best.estimate),
            "compared": best.compared,
            "equals": [dict(point.labels) for point in best.equals] if best.equals is not None else None,
        }
        if best
        else None,
        "improvements": [
            {"after": one.number, "value": one.value, "labels": dict(one.point.labels)} for one in found.improvements()
        ],
        "effects": [
            {
                "axis": one["axis"],
                "levels": [{key: level[key] for key in LevelAnswer.model_fields} for level in one["points"]],
            }
            for one in found.charts()
        ],
        "configurations": [
            {
                "labels": dict(row.point.labels),
                "changes": dict(row.point.changes),
                "estimate": _estimate(row.estimate) if row.estimate else None,
                "pruned": row.pruned,
                "runs": [
                    {
                        "seed": one.seed,
                        "run": one.run.pk if one.run else None,
                        "state": one.run.shown_as if one.run else None,
                        "score": one.score,
                        "problem": one.problem,
                    }
                    for one in row.members
                ],
            }
            for row in found.configurations()
        ],
    }


def _estimate(one: Estimate) -> dict[str, Any]:
    return {"mean": one.mean, "low": one.low, "high": one.high, "seeds": one.seeds, "runs": one.runs}
