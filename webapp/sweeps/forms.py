"""The form of a new sweep: what it begins with, what was posted, and what it would launch."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from django.db.models import TextChoices
from django.http import HttpRequest, QueryDict
from pydantic import ValidationError

from engine.config import RunConfig, problems_by_field
from engine.sweeps.catalogue import SweepPreset, sweep_presets
from engine.sweeps.plan import SweepPlan
from engine.sweeps.text import CURVES, SweepText
from webapp.audit.services import Actor
from webapp.environments.models import EnvironmentVersion
from webapp.environments.restrictions import refused_class
from webapp.launching.presets import run_presets
from webapp.launching.seeds import seeds_of
from webapp.projects.access import readable
from webapp.runs.live_settings import current
from webapp.runs.models import Run
from webapp.runs.queue import slots
from webapp.sweeps.axis_rows import AxisRow, posted_rows, rows_of
from webapp.sweeps.drafts import SweepDraft, draft
from webapp.sweeps.models import MOST_AT_ONCE, MOST_RETRIES, Priority, Sweep
from webapp.sweeps.texts import text_of
from webapp.whole_numbers import whole_number

CARRIED = "swept_run"  # in the session: the form of a run that asked for a sweep
CONFIRM_ABOVE = 20  # runs: more ask for their number
LONGEST_BASE = 256 * 1024
DEFAULT_SEEDS = "1-3"


class MethodChoice(TextChoices):
    GRID = "grid", "Grid: every combination"
    RANDOM = "random", "Random: independent draws"
    SOBOL = "sobol", "Sobol: draws that cover the ranges evenly"
    TPE = "tpe", "Adaptive: follows the results (TPE)"


# fields with a default
TEXTS = ("points", "sweep_seed", "seeds", "objective", "at_once", "retries", "priority", "confirm")
TEXT_FIELDS = {"description": "Question", "notes": "Notes", "curves": "Curves"}
OF_PRUNING = ("first", "every", "fewest")


@dataclass(slots=True, kw_only=True)
class SweepForm:
    """Texts as the form has them, and the base, which is None if what was posted is not a configuration."""

    base: RunConfig | None
    base_problem: str = ""
    preset: str = "custom"
    version: EnvironmentVersion | None = None
    name: str = ""
    rows: list[AxisRow] = field(default_factory=list)
    method: str = MethodChoice.GRID
    points: str = "16"
    sweep_seed: str = "1"
    seeds: str = DEFAULT_SEEDS
    at_once: str = "1"
    retries: str = "1"
    priority: str = "0"
    confirm: str = ""
    objective: str = "success"
    prune_median: bool = False
    prune_collapse: bool = False
    prune_first: str = "10"
    prune_every: str = "10"
    prune_fewest: str = "4"
    sweep_preset: SweepPreset | None = None
    description: str = ""
    notes: str = ""
    curves: str = ", ".join(CURVES)
    user: Actor = None

    @property
    def base_json(self) -> str:
        return self.base.model_dump_json() if self.base else ""

    def draft(self) -> SweepDraft:
        """What the form would launch; with problems of texts that are no plan at all."""
        if self.base is None:
            return SweepDraft(problems=[self.base_problem])
        problems: list[str] = []
        axes: list[dict[str, Any]] = []
        for number, row in enumerate(self.rows, 1):
            try:
                axes.append(row.data())
            except ValueError as error:
                problems.append(f"Axis {number}: {error}")
        try:
            seeds = seeds_of(self.seeds)
        except ValueError as error:
            problems.append(f"Training seeds: {error}")
        problems += [*self._problems_of_limits(), *self._problems_of_text()]
        if problems:
            return SweepDraft(problems=problems)
        data: dict[str, Any] = {"axes": axes, "method": self.method, "sweep_seed": self.sweep_seed, "seeds": seeds}
        if self.method != MethodChoice.GRID:
            data |= {"points": self.points, "objective": self.objective, "pruning": self._pruning()}
        return draft(self.base, data, user=self.user, version=self.version)

    def _pruning(self) -> dict[str, Any] | None:
        if not (self.prune_median or self.prune_collapse):
            return None
        numbers = {name: getattr(self, f"prune_{name}") for name in OF_PRUNING}
        return {"median": self.prune_median, "collapse": self.prune_collapse, **numbers}

    def _problems_of_limits(self) -> list[str]:
        limits = {
            "Runs at once": (self.at_once, 1, MOST_AT_ONCE),
            "Retries": (self.retries, 0, MOST_RETRIES),
        }
        return [
            f"{name}: must be a whole number from {low} to {high}, got {text[:20]!r}."
            for name, (text, low, high) in limits.items()
            if (number := whole_number(text.strip())) is None or not low <= number <= high
        ]

    def _problems_of_text(self) -> list[str]:
        try:
            self.text()
        except ValidationError as error:
            found = problems_by_field(error, SweepText)
            return [f"{TEXT_FIELDS.get(name.partition('.')[0], name)}: {why}." for name, why in found]
        return []

    def text(self) -> SweepText:
        names = [name.strip() for name in self.curves.split(",") if name.strip()]
        return SweepText(description=self.description.strip(), notes=self.notes.strip(), curves=names)

    def begin_with(self, text: SweepText) -> None:
        self.description, self.notes, self.curves = text.description, text.notes, ", ".join(text.curves)

    def limits(self) -> dict[str, int]:
        """Of a form without problems."""
        return {
            "at_once": int(self.at_once),
            "retries": int(self.retries),
            "priority": int(self.priority) if self.priority in map(str, Priority.values) else Priority.NORMAL,
        }


def begun(request: HttpRequest) -> SweepForm:
    """What the form begins with, for the user of the request."""
    form = _begun(request)
    form.user = request.user
    return form


def _begun(request: HttpRequest) -> SweepForm:
    """From another sweep, a run, a preset of sweeps, or the form of a run; else over the starter preset."""
    data = request.GET
    sweep = readable(Sweep.objects.filter(pk=whole_number(data.get("sweep", "")) or 0)).first()
    if sweep is not None:
        return _of_sweep(sweep)
    run = readable(Run.objects.filter(pk=data.get("clone") or "", imported_from="")).first()
    if run is not None:
        return SweepForm(
            base=current(run), preset=run.preset, version=run.environment_version, at_once=str(slots()), name=run.name
        )
    preset = sweep_presets().get(data.get("preset") or "")
    if preset is not None:
        return _of_preset(preset)
    carried = request.session.get(CARRIED) if "from" in data else None
    if carried is not None:
        return SweepForm(
            base=RunConfig.model_validate(carried["config"]),
            preset=carried["preset"],
            version=_version(carried["environment"]),
            name=carried["name"],
            seeds=carried["seeds"],
            at_once=str(slots()),
        )
    starter = run_presets()["starter"]
    return SweepForm(base=starter.config(), preset=starter.title, version=_version_named(starter.environment),
                     at_once=str(slots()))  # fmt: skip


def posted(data: QueryDict, user: Actor) -> SweepForm:
    base, problem = _base(data.get("base", ""), user)
    form = SweepForm(
        user=user,
        base=base,
        base_problem=problem,
        preset=data.get("preset", "")[:60] or "custom",
        version=_version(whole_number(data.get("environment", ""))),
        name=data.get("name", "").strip(),
        rows=posted_rows(data),
        method=data.get("method", MethodChoice.GRID),
    )
    form.prune_median, form.prune_collapse = "prune_median" in data, "prune_collapse" in data
    for name in (*TEXTS, *TEXT_FIELDS, *(f"prune_{one}" for one in OF_PRUNING)):
        if name in data:
            setattr(form, name, data[name])
    return form


def _base(text: str, user: Actor) -> tuple[RunConfig | None, str]:
    if len(text) > LONGEST_BASE:
        return None, "The base configuration is too long. Begin again from the form of a new run."
    try:
        data = json.loads(text)
        # before it is read, which imports a class that it names
        if reason := next(filter(None, (refused_class(kind, user) for kind in _kinds(data))), ""):
            return None, f"The base configuration cannot be used. {reason}"
        return RunConfig.model_validate(data), ""
    except ValidationError as error:
        name, why = problems_by_field(error, RunConfig)[0]
        return None, f"The base configuration cannot be used: {name}: {why}. Begin again from the form of a new run."
    except (ValueError, RecursionError):
        return None, "There is no base configuration. Begin from the form of a new run, or from a preset."


def _kinds(data: Any) -> list[object]:
    environments = data.get("environments") if isinstance(data, dict) else None
    return [one.get("kind") for one in environments or [] if isinstance(one, dict)]


def _of_sweep(sweep: Sweep) -> SweepForm:
    plan = sweep.parsed_plan()
    made = _of_plan(plan)
    made.base, made.preset, made.version = sweep.parsed_config(), sweep.preset, sweep.environment_version
    made.name = f"{sweep.name[:72]} again"
    made.begin_with(text_of(sweep))
    made.at_once, made.retries, made.priority = str(sweep.at_once), str(sweep.retries), str(sweep.priority)
    return made


def _of_preset(preset: SweepPreset) -> SweepForm:
    made = _of_plan(preset.plan)
    made.base = preset.base_config()
    made.begin_with(preset)
    made.preset = made.base.preset
    made.version = _version_named(made.base.environments[0].tag, made.base)
    made.name, made.at_once, made.sweep_preset = preset.title, str(slots()), preset
    return made


def _of_plan(plan: SweepPlan) -> SweepForm:
    form = SweepForm(
        base=None,
        objective=plan.objective,
        rows=rows_of(plan.axes),
        method=plan.method,
        points=str(plan.points),
        sweep_seed=str(plan.sweep_seed),
        seeds=", ".join(str(seed) for seed in plan.seeds),
    )
    if plan.pruning is not None:
        form.prune_median, form.prune_collapse = plan.pruning.median, plan.pruning.collapse
        for name in OF_PRUNING:
            setattr(form, f"prune_{name}", str(getattr(plan.pruning, name)))
    return form


def _version(pk: int | None) -> EnvironmentVersion | None:
    found = readable(EnvironmentVersion.objects.select_related("definition"))
    return found.filter(pk=pk).first() if pk is not None else None


def _version_named(name: str, base: RunConfig | None = None) -> EnvironmentVersion | None:
    """The newest version of the environment, if its configuration is that of the base."""
    found = (
        readable(EnvironmentVersion.objects.select_related("definition"))
        .filter(definition__name=name, definition__archived_at=None)
        .order_by("-number")
        .first()
    )
    if found is None or base is None:
        return found
    return found if base.environments[0].model_dump(mode="json") == found.config else None
