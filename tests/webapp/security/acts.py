"""One request on a route that changes something, with what it needs beforehand, for the table in `audited`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.test import Client

from tests.builders.suites import document, outcomes_of, suite_version
from tests.webapp.members.people import a_member, a_project
from tests.webapp.runs.rows import a_run
from tests.webapp.security.routes import address
from tests.webapp.world import CHECKPOINT_STEP, World
from webapp.environments.models import Preflight
from webapp.evaluations.models import EvaluationRequest
from webapp.jobs import JobState
from webapp.launching.models import RolloutImport
from webapp.leaderboard.links import new_link
from webapp.leaderboard.models import PublicLink
from webapp.members.services import invite
from webapp.projects.models import Role, default_project
from webapp.runs import ingesting
from webapp.runs.models import Run
from webapp.runs.states import RunState
from webapp.suites import importing
from webapp.suites.models import Suite, SuiteVersion
from webapp.whatif.models import WhatIf

Data = Mapping[str, Any]
Given = Callable[[World], str | None]


def nothing(_: World) -> None:
    """The world as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """A valid request of `data`, or of `lines`. `given` prepares the world for it, and returns the address if that is
    not the usual one; `action` is that of the entry which the request adds."""

    action: str
    data: Data | Callable[[World], Data] = field(default_factory=dict)
    given: Given = nothing
    lines: str = ""

    def prepare(self, route: str, world: World) -> str:
        """The address."""
        return self.given(world) or address(route, world)

    def send(self, route: str, path: str, world: World) -> Any:
        """The response to the administrator of the world. The API gets JSON, pages get a form."""
        data = self.data(world) if callable(self.data) else self.data
        client = Client()
        client.force_login(world.user)
        if self.lines:
            return client.post(path, self.lines, content_type="application/x-ndjson")
        if route.startswith("api/"):
            return client.post(path, json.dumps(data), content_type="application/json")
        return client.post(path, data)


def invited(world: World) -> str:
    return f"/projects/join/{invite(default_project(), world.user, Role.EDITOR, days=1)}/"


def with_invitation(world: World) -> str:
    invite(default_project(), world.user, Role.EDITOR, days=1)
    return f"/projects/default/invitations/{default_project().invitations.get().pk}/revoke/"


def with_member(world: World) -> str:
    return f"/projects/default/members/{a_member('grace').pk}/"


def with_empty_project(world: World) -> str:
    return f"/projects/{a_project().slug}/delete/"


def with_preflight(world: World) -> None:
    Preflight.objects.filter(pk=world.preflight.pk).update(state=JobState.QUEUED)


def with_what_if(world: World) -> None:
    WhatIf.objects.filter(pk=world.what_if.pk).update(state=JobState.QUEUED)


def with_import(world: World) -> None:
    RolloutImport.objects.filter(pk=world.rollouts.pk).update(state=JobState.QUEUED)


def with_link(world: World) -> str:
    new_link(world.user, Suite.objects.get(name=world.evaluation.version.suite.name), "")
    return f"/leaderboard/links/{PublicLink.objects.get().pk}/revoke/"


def while_it_runs(world: World) -> None:
    Run.objects.filter(pk=world.run.pk).update(state=RunState.RUNNING)


def while_it_is_evaluated(world: World) -> None:
    EvaluationRequest.objects.create(run=world.run, step=CHECKPOINT_STEP)


def with_whole_checkpoint(world: World) -> None:
    folder = world.run.directory / f"checkpoints/step_{CHECKPOINT_STEP}"
    (folder / "manifest.json").write_text(json.dumps({"model/config.json": "0"}))


def behind_another(world: World) -> str:
    """A queued run, second in the queue."""
    first, second = (a_run(name, RunState.QUEUED) for name in ("first", "second"))
    assert first.created_at < second.created_at
    return f"/api/v1/runs/{second.pk}/queue-position/"


def trained_elsewhere(world: World) -> str:
    made = ingesting.create(
        world.user, source="verl", name="elsewhere", environment="Lake", model="", steps=3, config={},
        project=default_project(),
    )  # fmt: skip
    return f"/api/v1/runs/{made.pk}/finish/"


def small_suite() -> SuiteVersion:
    """With a single episode."""
    return suite_version(document("small", item="One", problems=1, environment={"kind": "bandit"}))


def with_small_suite(_: World) -> None:
    small_suite()


def with_unused_suite(_: World) -> str:
    return f"/suites/{small_suite().suite.name}/edit/"


def announcement(world: World) -> Data:
    version = small_suite()
    policy = {"kind": "directory", "model": "m"}
    return {"suite": "small", "version": version.number, "key": version.key, "policy": policy}


def with_all_episodes(world: World) -> str:
    about = announcement(world)
    begun = importing.begin(
        world.user, suite="small", version=about["version"], key=about["key"], samples=None, conditions=[],
        policy=about["policy"], weights="", versions={},
    )  # fmt: skip
    [outcome] = outcomes_of(begun.suite(), {"One": ["1"]})
    known = {name: getattr(outcome, name) for name in importing.Played.model_fields if name != "trajectory"}
    assert importing.add(begun, [json.dumps({**known, "trajectory": {"turns": []}}).encode()]) == (1, [])
    return f"/api/v1/played-evaluations/{begun.pk}/finish"
