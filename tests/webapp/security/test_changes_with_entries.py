"""A change and its entry in the audit log are one transaction: where the entry cannot be added, nothing has changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import DatabaseError, connection

from tests.webapp.members.people import a_member
from tests.webapp.refused_rows import refuse_rows
from tests.webapp.security.acts import Act, Given
from tests.webapp.security.audited import AUDITED
from tests.webapp.security.undone import undone
from tests.webapp.world import World
from webapp.environments.models import EnvironmentDefinition
from webapp.jobs import JobState
from webapp.runs.models import Run
from webapp.runs.states import EndCause, Request, RunState
from webapp.suites.models import SuiteEvaluation
from webapp.sweeps.models import Sweep, SweepState

OF_ANY_REQUEST = ("audit", "sessions", "user_sessions")


def with_run(**fields: Any) -> Given:
    def change(world: World) -> None:
        Run.objects.filter(pk=world.run.pk).update(**fields)

    return change


def with_evaluation(state: JobState) -> Given:
    def change(world: World) -> None:
        SuiteEvaluation.objects.filter(pk=world.evaluation.pk).update(state=state)

    return change


def with_running_sweep(world: World) -> None:
    Sweep.objects.filter(pk=world.sweep.pk).update(state=SweepState.RUNNING)


def with_shared_report(world: World) -> None:
    type(world.report).objects.filter(pk=world.report.pk).update(share_key="key")


def with_archived_environment(world: World) -> None:
    EnvironmentDefinition.objects.filter(pk=world.environment.pk).update(archived_at=world.run.created_at)


def of_member(world: World) -> str:
    return f"/projects/default/members/{a_member('grace').pk}/"


CONTROL = "runs/<str:run_id>/control/"
RUNNING = {"state": RunState.RUNNING, "requested": Request.RUN}
OTHERS = [  # actions beside that of `AUDITED` on the same route
    *(
        (CONTROL, Act(action=action, data={"action": action, "name": "new"}, given=with_run(**fields)))
        for action, fields in (
            ("stop", {"state": RunState.QUEUED}),
            ("stop", RUNNING),
            ("pause", RUNNING),
            ("checkpoint", RUNNING),
            ("resume", {"state": RunState.PAUSED, "requested": Request.PAUSE}),
            ("resume", {"state": RunState.STOPPED}),
            ("start_over", {"state": RunState.FAILED, "end_cause": EndCause.NO_GOOD_CHECKPOINT}),
            ("unarchive", {}),
            ("rename", {}),
        )
    ),
    (
        "evaluations/<int:pk>/control/",
        Act(action="halt", data={"action": "stop"}, given=with_evaluation(JobState.QUEUED)),
    ),
    ("sweeps/<int:pk>/control/", Act(action="hold", data={"action": "stop"}, given=with_running_sweep)),
    ("reports/<int:pk>/share/", Act(action="unshare", data={"action": "revoke"}, given=with_shared_report)),
    (
        "environments/<int:pk>/archive/",
        Act(action="restore", data={"action": "unarchive"}, given=with_archived_environment),
    ),
    (
        "projects/<slug:slug>/members/<int:user_id>/",
        Act(action="remove_member", data={"action": "remove"}, given=of_member),
    ),
]


@pytest.fixture
def acts(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Act], object]:
    """A function that returns what is left of a request whose entry is refused; then rows and files are as before."""
    monkeypatch.setattr("webapp.evaluations.requests.why_no_worker", lambda: "")
    shutil.copytree(tmp_path / "runs", tmp_path / "before")

    def left_by(route: str, act: Act) -> object:
        with undone():
            path = act.prepare(route, world)
            before = rows()
            refuse_rows("audit_auditentry")
            try:
                status = act.send(route, path, world).status_code
            except DatabaseError:
                status = 500
            if connection.needs_rollback:
                return "the entry is not added in a transaction of the change"
            changed = [table for table, found in rows().items() if found != before[table]]
        shutil.rmtree(tmp_path / "runs")
        shutil.copytree(tmp_path / "before", tmp_path / "runs")
        return changed if status >= 500 else f"answers {status}"

    return left_by


def rows() -> dict[str, list[dict[str, Any]]]:
    """By table, but for the log itself and what any request of a user writes."""
    models = [one for one in apps.get_models(include_auto_created=True) if one._meta.app_label not in OF_ANY_REQUEST]
    return {one._meta.db_table: list(one._base_manager.order_by("pk").values(*columns(one))) for one in models}


def columns(model: Any) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields if field.attname != "last_login"]


def test_an_entry_that_is_refused_leaves_no_change_on_any_route(acts: Callable[[str, Act], object]) -> None:
    found = {route: acts(route, act) for route, act in AUDITED.items() if isinstance(act, Act)}
    assert {route: left for route, left in found.items() if left} == {}


def test_nor_by_other_actions_on_the_same_routes(acts: Callable[[str, Act], object]) -> None:
    found = [(route, act.action, acts(route, act)) for route, act in OTHERS]
    assert [one for one in found if one[2]] == []
