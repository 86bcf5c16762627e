"""Sweeps: what one would train, creating, reading and changing them."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.sweeps.catalogue import sweep_presets
from engine.sweeps.plan import MOST_RUNS
from webapp.accounts.models import Scope
from webapp.api.endpoints import Call, Fields, Resource
from webapp.api.label_fields import Text
from webapp.api.paging import page
from webapp.api.problems import Problem, invalid_fields
from webapp.api.resources.sweep_answers import (
    ConfigurationAnswer,
    SweepAnswer,
    SweepDetail,
    sweep_answer,
    sweep_detail,
)
from webapp.launching.requests import Refused as RefusedRequest
from webapp.projects.access import readable
from webapp.runs.priorities import NUMBERS, PriorityName
from webapp.runs.queue import slots
from webapp.sweeps.definitions import Prepared, Wanted, prepare
from webapp.sweeps.estimates import estimate
from webapp.sweeps.extending import extended
from webapp.sweeps.forms import CONFIRM_ABOVE
from webapp.sweeps.models import MOST_AT_ONCE, MOST_RETRIES, Sweep, SweepState
from webapp.sweeps.services import Refused, change, create, extend, resume, stop

resource = Resource(tag="Sweeps")

EXAMPLE: dict[str, Any] = {
    "definition": {
        "base": "starter",
        "changes": {"steps": 60},
        "plan": {"axes": [{"type": "values", "field": "loss.kl_coefficient", "values": [0, 0.01]}], "seeds": [1, 2, 3]},
    }
}
CONFIRM = f"The number of runs, for more than {CONFIRM_ABOVE}. `plan_sweep` says how many they are."


class WantedSweep(Fields):
    """Exactly one of `preset`, `definition` and `toml`."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE]})

    preset: str = Field(default="", description="The key of a sweep that ships, as `list_sweep_presets` lists them.")
    definition: dict[str, Any] | None = Field(
        default=None,
        description="`base` (a preset of runs) or `config`, `changes` of it by dotted field, `environment` (one of "
        "this site), and `plan`: a `SweepPlan`. `description`, `notes` (Markdown) and `curves` (names of metrics) are "
        "for the page of the sweep.",
    )
    toml: str | None = Field(default=None, description="The same as the text of a TOML file.")
    seeds: list[int] | None = Field(default=None, description="Training seeds in place of those of the plan.")
    at_once: int = Field(default=1, ge=1, le=MOST_AT_ONCE, description="Runs that are queued or live.")


class CreateSweep(WantedSweep):
    name: Text = Field(default="", max_length=80, description="The title of the definition if there is none.")
    retries: int = Field(default=1, ge=0, le=MOST_RETRIES, description="Of each run that fails.")
    priority: PriorityName = Field(default="normal", description="Of its runs in the queue.")
    confirm: int | None = Field(default=None, description=CONFIRM)


class SweepFilter(Fields):
    state: SweepState | None = Field(default=None, description="Only sweeps in this state.")
    name: str | None = Field(default=None, description="Only sweeps whose name contains this.")
    limit: int = Field(default=50, ge=1, le=200, description="The most sweeps on a page.")
    after: str | None = Field(default=None, description="The cursor `next` of the previous page.")


class SweepPage(BaseModel):
    sweeps: list[SweepAnswer]
    next: str | None = Field(description="The cursor of the next page; null if this is the last.")


class SweepPresetAnswer(BaseModel):
    key: str
    title: str
    description: str
    source: str = Field(description="The paper, and what differs here; empty for our own experiments.")
    group: str = Field(description="papers or experiments.")
    size: str = Field(description="small: for two CPU cores. full: as in the paper, on GPUs.")


class SweepPresetList(BaseModel):
    presets: list[SweepPresetAnswer]


class PlannedSweep(BaseModel):
    """What a sweep would train. Nothing is launched."""

    runs: int
    configurations: list[ConfigurationAnswer] = Field(
        description="In the order of the axes; of an adaptive search the first ones."
    )
    seeds: list[int]
    steps: int
    trajectories: int
    engine_seconds: float | None = Field(description="Of all runs; null without earlier runs of the same kind.")
    wall_seconds: float | None = Field(description="Until the sweep is done, with this many runs at once.")
    earlier_runs: int = Field(description="Earlier runs that the times are estimated from.")
    problems: list[str] = Field(description="Why it cannot be created; empty if it can.")
    warnings: list[str]


class SweepControl(Fields):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"action": "stop"}]})

    action: Literal["stop", "hold", "resume"] = Field(
        description="stop: its runs as well. hold: launch no more. resume: what was stopped, failed or is planned."
    )


class SweepLimits(Fields):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"at_once": 2}]})

    at_once: int | None = Field(default=None, ge=1, le=MOST_AT_ONCE)
    retries: int | None = Field(default=None, ge=0, le=MOST_RETRIES)
    priority: PriorityName | None = None


class Extension(Fields):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"seeds": [4, 5]}]})

    seeds: list[int] = Field(default_factory=list, description="Further training seeds.")
    values: dict[str, list[Any]] = Field(
        default_factory=dict,
        description="Further values by name of the axis, of a grid; settings as `label` with `changes`.",
    )
    points: int | None = Field(default=None, ge=1, le=MOST_RUNS, description="Configurations to draw in total.")
    confirm: int | None = Field(default=None, description=CONFIRM)


class Extended(SweepDetail):
    added: int = Field(description="Runs.")


@resource.get("sweep-presets/", route="sweep_presets")
def list_sweep_presets(call: Call) -> SweepPresetList:
    """List the sweeps that ship: those of the papers, and our own experiments."""
    return SweepPresetList(
        presets=[
            SweepPresetAnswer(
                key=key,
                title=one.title,
                description=one.description,
                source=one.source,
                group=one.group,
                size=one.size,
            )
            for key, one in sweep_presets().items()
        ]
    )


@resource.post("sweep-plans/", route="sweep_plans")
def plan_sweep(call: Call, body: WantedSweep) -> PlannedSweep:
    """Say what a sweep would train, and how long that would take.

    Nothing is launched. `problems` are those that `create_sweep` would refuse it for.
    """
    found = _prepared(body, call)
    made = found.draft
    seeds = made.plan.seeds if made.plan else []
    expected = estimate(made.expected_configs(), len(seeds), min(body.at_once, slots()))
    return PlannedSweep(
        runs=made.run_count,
        configurations=[
            ConfigurationAnswer(labels=dict(point.labels), changes=dict(point.changes)) for point in made.points
        ],
        seeds=seeds,
        steps=expected.steps,
        trajectories=expected.trajectories,
        engine_seconds=expected.seconds,
        wall_seconds=expected.wall,
        earlier_runs=expected.earlier,
        problems=made.problems,
        warnings=made.warnings,
    )


@resource.get("sweeps/", route="sweeps")
def list_sweeps(call: Call, query: SweepFilter) -> Annotated[dict[str, Any], SweepPage]:
    """List sweeps, most recent first."""
    chosen = {"state": query.state, "name__icontains": query.name or None}
    rows = readable(Sweep.objects.select_related("owner")).filter(
        **{name: value for name, value in chosen.items() if value is not None}
    )
    found, following = page(rows, query, after=query.after, limit=query.limit)
    return {"sweeps": [sweep_answer(sweep) for sweep in found], "next": following}


@resource.post("sweeps/", route="sweeps", scope=Scope.LAUNCH, status=201, idempotent=True)
def create_sweep(call: Call, body: CreateSweep) -> Annotated[dict[str, Any], SweepDetail]:
    """Create a sweep and queue its first runs.

    Every configuration is validated as on the form of a new sweep. More runs than the site launches unasked need their
    number in `confirm`. With the header `Idempotency-Key`, a request that is sent again within 24 hours with the same
    body gives the same sweep.
    """
    found = _prepared(body, call)
    if found.draft.problems:
        raise invalid_fields({"plan": " ".join(found.draft.problems)}, "Fix the plan. Nothing was launched.")
    _check_confirmed(found.draft.run_count, body.confirm)
    sweep = create(
        found.draft,
        base=found.base,
        owner=call.user,
        name=body.name or found.title,
        text=found.text,
        preset=found.preset,
        environment_version=found.version,
        at_once=body.at_once,
        retries=body.retries,
        priority=NUMBERS[body.priority],
    )
    return sweep_detail(sweep)


@resource.get("sweeps/{sweep_id}/", route="sweep")
def get_sweep(call: Call, sweep: Sweep) -> Annotated[dict[str, Any], SweepDetail]:
    """Retrieve a sweep with its results: the effect of each axis, the best configuration, every run."""
    return sweep_detail(sweep)


@resource.post(
    "sweeps/{sweep_id}/control",
    route="sweep_control",
    scope=Scope.LAUNCH,
    problems={409: "The state of the sweep does not allow the action."},
)
def control_sweep(call: Call, sweep: Sweep, body: SweepControl) -> Annotated[dict[str, Any], SweepAnswer]:
    """Stop, hold or resume a sweep."""
    if body.action == "resume":
        try:
            resume(sweep, call.user)
        except Refused as refusal:
            raise Problem(409, str(refusal), "Retrieve the sweep and check its runs.") from None
    elif not stop(sweep, call.user, runs=body.action == "stop"):
        raise Problem(409, "There is nothing to stop: the sweep launches no more runs", "Retrieve the sweep.")
    sweep.refresh_from_db()
    return sweep_answer(sweep)


@resource.post("sweeps/{sweep_id}/limits", route="sweep_limits", scope=Scope.LAUNCH)
def change_sweep(call: Call, sweep: Sweep, body: SweepLimits) -> Annotated[dict[str, Any], SweepAnswer]:
    """Change how many runs are queued or live at once, the retries, and the priority, from the next launch on."""
    change(
        sweep,
        call.user,
        at_once=body.at_once if body.at_once is not None else sweep.at_once,
        retries=body.retries if body.retries is not None else sweep.retries,
        priority=NUMBERS[body.priority] if body.priority is not None else sweep.priority,
    )
    return sweep_answer(sweep)


@resource.post("sweeps/{sweep_id}/extend", route="sweep_extend", scope=Scope.LAUNCH, idempotent=True)
def extend_sweep(call: Call, sweep: Sweep, body: Extension) -> Annotated[dict[str, Any], Extended]:
    """Add training seeds, values of axes, or configurations to draw. Existing runs stay as they are."""
    try:
        larger = partial(extended, seeds=body.seeds, values=body.values, points=body.points)
        added = extend(sweep, larger, most=max(CONFIRM_ABOVE, body.confirm or 0), user=call.user)
    except ValidationError as error:
        raise invalid_fields({"": str(error.errors()[0]["msg"]).removeprefix("Value error, ")}) from None
    except (Refused, ValueError) as refusal:
        raise invalid_fields({"": str(refusal)}) from None
    return {**sweep_detail(sweep), "added": added}


def _prepared(body: WantedSweep, call: Call) -> Prepared:
    try:
        return prepare(
            Wanted(preset=body.preset, definition=body.definition, toml=body.toml, seeds=body.seeds), call.user
        )
    except RefusedRequest as refusal:
        raise invalid_fields(refusal.errors, "Fix the fields in `errors`. Nothing was launched.") from None


def _check_confirmed(count: int, confirm: int | None) -> None:
    if count > CONFIRM_ABOVE and confirm != count:
        given = "" if confirm is None else f", not {confirm}"
        raise invalid_fields(
            {"confirm": f"These are {count} runs{given}. More than {CONFIRM_ABOVE} need their number."},
            f"Send confirm as {count} to launch that many runs. Nothing was launched.",
        )
