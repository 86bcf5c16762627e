"""Facts about an environment, measured by a worker after it was saved: a picture, scripted players, solutions.

`facts` of a version is empty until then. First it has `drawing`, or the `problem` for which there is none; when it has
`baselines` too it is complete.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

from engine.config import EnvironmentConfig
from engine.environment_calls.helper import CallFailed
from engine.environments.feasibility import Feasibility, SolutionLengths, action_budget, feasibility_of
from webapp.environments import calls
from webapp.environments.models import EnvironmentVersion
from webapp.worker_calls import is_alone

Ask = Callable[[str, dict[str, Any]], dict[str, Any]]
Step = Callable[[EnvironmentVersion, Ask], None]


class Facts(TypedDict, total=False):
    drawing: dict[str, Any] | None
    baselines: list[dict[str, Any]]
    solutions: dict[str, Any]  # of `SolutionLengths`
    problem: str  # why the environment cannot be played, if it cannot


def look(version: EnvironmentVersion, ask: Ask) -> None:
    """The picture of a first state."""
    try:
        facts = Facts(drawing=ask("first_look", version.config)["drawing"], problem="")
    except CallFailed as error:
        facts = Facts(drawing=None, problem=str(error))
    _store(version, facts)


def measure(version: EnvironmentVersion, ask: Ask) -> None:
    """What scripted players reach, and how long solutions are."""
    facts: Facts = {"baselines": [], "problem": version.facts.get("problem", "")}
    if not facts["problem"]:
        try:
            facts["baselines"] = ask("baselines", version.config)["baselines"]
            facts["solutions"] = ask("lengths", version.config)
        except CallFailed as error:
            facts["problem"] = str(error)
    _store(version, facts)


def lacking(step: Step) -> list[int]:
    """The newest versions for which `step` is still to be done."""
    key = "drawing" if step is look else "baselines"
    newest: dict[int, tuple[int, dict[str, Any]]] = {}
    rows = EnvironmentVersion.objects.order_by("definition_id", "number").values_list("definition_id", "pk", "facts")
    for definition, pk, facts in rows:
        newest[definition] = (pk, facts)
    return [pk for pk, facts in newest.values() if key not in facts]


def measure_soon(version: EnvironmentVersion) -> EnvironmentVersion:
    """Has `version` measured by a worker; at once where there is no other process."""
    if not is_alone():
        calls.measure_later()
        return version
    look(version, _ask_here)
    measure(version, _ask_here)
    return version


def measured_feasibility(config: EnvironmentConfig) -> Feasibility | None:
    """Whether the budget of `config` suffices for the problems of a version with its parameters, which a worker has
    measured; None if none has been."""
    for stored, facts in EnvironmentVersion.objects.filter(config__kind=config.kind).values_list("config", "facts"):
        if "solutions" not in facts:
            continue
        measured = EnvironmentConfig.model_validate(stored)
        if (measured.parameters, measured.wrappers) == (config.parameters, config.wrappers):
            return feasibility_of(SolutionLengths(**facts["solutions"]), action_budget(config))
    return None


def _ask_here(call: str, config: dict[str, Any]) -> dict[str, Any]:
    return calls.ask(call, EnvironmentConfig.model_validate(config))


def _store(version: EnvironmentVersion, facts: Facts) -> None:
    """Unless the version has been edited in place meanwhile: what was measured was another one."""
    version.facts = {**version.facts, **facts}
    EnvironmentVersion.objects.filter(pk=version.pk, config=version.config).update(facts=version.facts)
