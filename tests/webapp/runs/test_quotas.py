"""Quotas: what a user's runs may use, what waits, and what is refused."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from engine.config import RunConfig
from engine.events import RunStarted
from tests.webapp.event_rows import add_event
from tests.webapp.members.people import join
from tests.webapp.runs.rows import a_run
from webapp.audit.services import entries_of
from webapp.projects.models import Role, default_project
from webapp.quotas.limits import limits_of
from webapp.quotas.models import UserQuota
from webapp.run_pages.removal import delete
from webapp.runs import queue
from webapp.runs.models import PastUsage, Run
from webapp.runs.quotas import QuotaExceeded, used_by
from webapp.runs.services import request_resume, submit_run
from webapp.runs.states import RunState

pytestmark = pytest.mark.django_db

HOUR = 3600.0


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


def a_run_of(user: User, state: RunState, name: str = "calm-otter-12") -> Run:
    run = a_run(name, state)
    Run.objects.filter(pk=run.pk).update(owner=user)
    run.refresh_from_db()
    return run


def trained(user: User, *, hours: float, ended_days_ago: float = 0.0) -> Run:
    """A finished run of one attempt that held its device for so long."""
    run = a_run_of(user, RunState.FINISHED)
    end = time.time() - ended_days_ago * 24 * HOUR
    started = RunStarted(step=0, total_steps=9, pid=1, device="cuda", model="tiny", parameters=1)
    add_event(run, started, seq=1, time=end - hours * HOUR)
    moment = datetime.fromtimestamp(end, UTC)
    Run.objects.filter(pk=run.pk).update(started_at=moment, finished_at=moment, last_progress=moment)
    return run


def launch(user: User) -> Run:
    return submit_run(owner=user, config=RunConfig.model_validate({}))


def test_a_limit_of_one_s_own_replaces_the_default(ada: User, settings: Settings) -> None:
    settings.STARBOARD_QUOTA_RUNS_AT_ONCE, settings.STARBOARD_QUOTA_DISK_GIB = 2, 50
    UserQuota.objects.create(user=ada, runs_at_once=5)
    limits = limits_of(ada.pk)
    assert (limits.runs_at_once, limits.device_hours, limits.disk_gib) == (5, None, 50)


def test_a_run_beyond_the_number_at_once_waits_and_others_go_first(ada: User, settings: Settings) -> None:
    settings.STARBOARD_MAX_PARALLEL_RUNS = 3
    UserQuota.objects.create(user=ada, runs_at_once=1)
    eve = User.objects.create_user("eve", is_staff=True)
    running = a_run_of(ada, RunState.RUNNING, "first")
    second, other = a_run_of(ada, RunState.QUEUED, "second"), a_run_of(eve, RunState.QUEUED, "other")
    assert queue.due() == [other.pk]
    queue.report()
    second.refresh_from_db()
    assert second.wait_reason == (
        "Waits for another run of its user to end: the quota allows one run at once. "
        "An administrator can raise it: eve."
    )
    Run.objects.filter(pk=running.pk).update(state=RunState.FINISHED)
    assert sorted(queue.due()) == sorted([second.pk, other.pk])


def test_a_launch_is_refused_once_all_disk_is_used(ada: User, settings: Settings) -> None:
    settings.STARBOARD_CONTACT = "ml-infra@example.org"
    UserQuota.objects.create(user=ada, disk_gib=0)
    run = a_run_of(ada, RunState.FINISHED)
    run.directory.mkdir(parents=True)
    with pytest.raises(
        QuotaExceeded, match=r"occupy 0.0 of the 0 GiB .* Delete runs .* ml-infra@example.org can raise"
    ):
        launch(ada)
    assert Run.objects.count() == 1


def test_device_hours_count_over_the_last_thirty_days_alone(ada: User) -> None:
    trained(ada, hours=2.0)
    trained(ada, hours=10.0, ended_days_ago=31)
    trained(ada, hours=48.0, ended_days_ago=29)  # one of its two days is older than thirty: 24 hours count
    assert used_by(ada.pk).device_hours == pytest.approx(26.0, abs=0.01)
    UserQuota.objects.create(user=ada, device_hours=27)
    launch(ada)
    UserQuota.objects.update(device_hours=25)
    with pytest.raises(QuotaExceeded, match=r"have used 26.0 of the 25 device hours"):
        launch(ada)


def test_others_are_not_limited_by_the_quota_of_a_user(ada: User) -> None:
    UserQuota.objects.create(user=ada, disk_gib=0, device_hours=0)
    assert launch(User.objects.create_user("eve", is_staff=True)).state == RunState.QUEUED


def test_a_refused_launch_is_explained_on_the_form_and_by_the_api(browser: Client, user: User) -> None:
    UserQuota.objects.create(user=user, device_hours=0)
    page = browser.post("/runs/quick-start/", {"preset": "starter"}, follow=True).content.decode()
    assert "Your runs have used 0.0 of the 0 device hours" in page
    answer = browser.post("/api/v1/runs/", {"preset": "starter"}, "application/json")
    assert answer.status_code == 403
    assert "0 device hours" in answer.json()["error"]
    assert not Run.objects.exists()


def test_the_account_page_shows_use_beside_limits(browser: Client, user: User, runs_directory: Path) -> None:
    UserQuota.objects.create(user=user, runs_at_once=4)
    a_run_of(user, RunState.RUNNING)
    page = browser.get("/account/").content.decode()
    assert '<td class="num">1</td><td class="num">4</td>' in page
    assert "no limit" in page


def test_administrators_set_quotas_and_others_do_not(client: Client, browser: Client, user: User) -> None:
    assert browser.get("/account/quotas/").status_code == 403
    administrator = Client()
    administrator.force_login(User.objects.create_user("root", is_staff=True))
    assert 'name="runs_at_once"' in administrator.get("/account/quotas/").content.decode()
    answer = administrator.post("/account/quotas/", {"user": user.pk, "runs_at_once": "2", "disk_gib": ""})
    assert answer.status_code == 302
    own = UserQuota.objects.get(user=user)
    assert (own.runs_at_once, own.disk_gib, own.changed_by) == (2, None, "root")
    assert administrator.post("/account/quotas/", {"user": user.pk, "runs_at_once": "-1"}).status_code == 422


def test_a_change_of_a_quota_is_in_the_audit_log_of_the_account(client: Client, browser: Client, user: User) -> None:
    client = Client()
    client.force_login(User.objects.create_user("root", is_staff=True))
    for hours in ("20", "20", ""):
        client.post("/account/quotas/", {"user": user.pk, "device_hours": hours})
    logged = [(one["who"], one["description"], one["detail"]) for one in entries_of(user)]
    assert logged == [
        ("root", "changed quotas", "device_hours 20 → default"),
        ("root", "changed quotas", "device_hours default → 20"),
    ]
    assert f"{user.get_username()}: changed quotas" in client.get("/account/quotas/").content.decode()
    assert "device_hours default → 20" in browser.get("/account/").content.decode()


def test_the_page_of_quotas_names_the_defaults(client: Client, settings: Settings, user: User) -> None:
    client.force_login(User.objects.create_user("root", is_staff=True))
    settings.STARBOARD_QUOTA_RUNS_AT_ONCE = 4
    page = client.get("/account/quotas/").content.decode()
    assert "4 at once, any number of device hours, and as much disk as there is." in page


def test_resuming_an_ended_run_is_refused_as_launching_is(browser: Client, user: User) -> None:
    join(user, Role.EDITOR, default_project())
    run = a_run_of(user, RunState.STOPPED)
    UserQuota.objects.create(user=user, device_hours=0)
    page = browser.post(f"/runs/{run.pk}/control/", {"action": "resume"}, follow=True).content.decode()
    assert "Your runs have used 0.0 of the 0 device hours" in page
    answer = browser.post(f"/api/v1/runs/{run.pk}/control", {"action": "resume"}, "application/json")
    assert (answer.status_code, "0 device hours" in answer.json()["error"]) == (403, True)
    run.refresh_from_db()
    assert run.state == RunState.STOPPED
    UserQuota.objects.update(device_hours=1)
    assert browser.post(f"/api/v1/runs/{run.pk}/control", {"action": "resume"}, "application/json").status_code == 200
    run.refresh_from_db()
    assert run.state == RunState.QUEUED


def test_a_paused_run_is_resumed_whatever_is_used(ada: User) -> None:
    run = a_run_of(ada, RunState.PAUSED)
    Run.objects.filter(pk=run.pk).update(requested="pause")
    UserQuota.objects.create(user=ada, device_hours=0)
    assert request_resume(run, ada)


def test_who_resumes_the_run_of_another_sees_whose_quota_is_used(ada: User) -> None:
    run = a_run_of(ada, RunState.FAILED)
    UserQuota.objects.create(user=ada, device_hours=0)
    with pytest.raises(QuotaExceeded, match=r"The runs of ada have used 0\.0 of the 0 device hours that they may use"):
        request_resume(run, User.objects.create_user("eve"))


def test_hours_of_a_deleted_run_still_count(ada: User) -> None:
    old, run = trained(ada, hours=10.0, ended_days_ago=31), trained(ada, hours=48.0, ended_days_ago=29)
    before = used_by(ada.pk).device_hours
    for one in (run, old):
        one.refresh_from_db()
        assert delete(one, ada).done
    assert not Run.objects.exists()
    assert used_by(ada.pk).device_hours == pytest.approx(before, abs=0.01)
    assert before == pytest.approx(24.0, abs=0.01)
    assert list(PastUsage.objects.values_list("run_id", flat=True)) == [run.pk], "of older ones nothing is kept"
