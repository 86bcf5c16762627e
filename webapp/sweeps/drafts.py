"""A sweep before launch: every configuration checked as that of a single run is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from engine.config import RunConfig, problems_by_field
from engine.sweeps.axes import RangeAxis
from engine.sweeps.configurations import Configurations, configurations_of, refusal
from engine.sweeps.plan import SweepPlan
from engine.sweeps.points import Point, Trial, point_by_point, points_of, trials_of
from webapp.audit.services import Actor
from webapp.environments.models import EnvironmentVersion
from webapp.environments.restrictions import is_as_saved, refused_class, refused_fields
from webapp.launching import drafts


@dataclass(slots=True, kw_only=True)
class SweepDraft:
    """`problems` are sentences, each with the axis, its value and the reason; there is no launch with one."""

    plan: SweepPlan | None = None
    configurations: Configurations = field(default_factory=Configurations)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def valid(self) -> bool:
        return self.plan is not None and not self.problems

    @property
    def points(self) -> list[Point]:
        return [point for point, _ in self.configurations.found]

    @property
    def configs(self) -> dict[str, RunConfig]:
        """By key of the point."""
        return {point.key: config for point, config in self.configurations.found}

    @property
    def run_count(self) -> int:
        """Of all runs, also those of points that an adaptive search has yet to propose."""
        if self.plan is None:
            return 0
        return (self.plan.points if self.plan.method == "tpe" else len(self.points)) * len(self.plan.seeds)

    def expected_configs(self) -> list[RunConfig]:
        """Of all configurations; those that an adaptive search has yet to propose as the first ones are."""
        found = list(self.configs.values())
        if self.plan is None or self.plan.method != "tpe" or not found:
            return found
        return [found[index % len(found)] for index in range(self.plan.points)]

    def trials(self) -> list[Trial]:
        """In the order of launch; of an adaptive search the first ones."""
        if self.plan is None:
            return []
        if self.plan.method == "tpe":
            return list(point_by_point(self.points, self.plan.seeds))
        return list(trials_of(self.points, self.plan.seeds, self.plan.sweep_seed))


def draft(
    base: RunConfig,
    data: Mapping[str, Any],
    *,
    first: Sequence[str] = (),
    user: Actor = None,
    version: EnvironmentVersion | None = None,
) -> SweepDraft:
    """`data` as a plan over `base`, whose first environment is the `version` of the site if there is one. Of points
    with the same configuration those whose keys are in `first` are kept. `user` may configure what it names."""
    try:
        plan = SweepPlan.model_validate(data)
    except ValidationError as error:
        return SweepDraft(problems=[_plain(name, why) for name, why in problems_by_field(error, SweepPlan)])
    if refused := _refused_classes(plan, user):
        return SweepDraft(problems=refused)
    values = base.model_dump(mode="json")
    points = sorted(points_of(plan, values), key=lambda point: point.key not in first)
    made = SweepDraft(plan=plan, configurations=configurations_of(values, points))
    _check_beyond_the_engine(made)
    _refuse_restricted(made, user, version)
    made.problems = made.configurations.problems
    return made


def _check_beyond_the_engine(made: SweepDraft) -> None:
    """Model directories, action budgets, the cluster: the same as for a single run."""
    warnings: dict[str, int] = {}
    for point, config in made.configurations.found:
        checked = drafts.checked(config)
        made.configurations.refusals += [refusal(point, _field(name), why) for name, why in checked.errors.items()]
        for warning in checked.warnings:
            warnings[warning] = warnings.get(warning, 0) + 1
    total = len(made.configurations.found)
    for warning, count in warnings.items():
        made.warnings.append(warning if count == total else f"{warning} ({count} of {total} configurations)")


def _refused_classes(plan: SweepPlan, user: Actor) -> list[str]:
    """Before a configuration is read, which imports a class that it names."""
    named = (
        (axis.name, str(level.changes[name]))
        for axis in plan.axes
        if not isinstance(axis, RangeAxis)
        for level in axis.levels()
        for name in level.changes
        if name.startswith("environments.")
    )
    return [f"{axis} = {value[:60]}: {reason}" for axis, value in named if (reason := refused_class(value, user))]


def _refuse_restricted(made: SweepDraft, user: Actor, version: EnvironmentVersion | None) -> None:
    """An environment of the site may have been set up by an administrator; it is allowed as it is."""
    for point, config in made.configurations.found:
        for index, one in enumerate(config.environments):
            if index == 0 and version is not None and is_as_saved(one, version):
                continue
            made.configurations.refusals += [
                refusal(point, f"environments.{index}.{name}", why) for name, why in refused_fields(one, user).items()
            ]


def _field(name: str) -> str:
    """Errors of the first environment are at the select of a form."""
    return "environments.0" if name == "environment" else name


def _plain(name: str, reason: str) -> str:
    """`axes.0.field` as "Axis 1, field"."""
    parts = name.split(".")
    if parts[0] == "axes" and len(parts) > 1 and parts[1].isdecimal():
        rest = ".".join(parts[2:])
        return f"Axis {int(parts[1]) + 1}{f', {rest}' if rest else ''}: {reason}"
    return reason if name == "axes" else f"{name.replace('_', ' ').capitalize()}: {reason}"
