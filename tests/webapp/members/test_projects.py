"""Projects: members and roles, invitations, and what a role sees and may do."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from tests.webapp.members.people import a_member, a_project
from tests.webapp.runs.rows import a_run
from webapp.audit.models import AuditEntry
from webapp.members import services
from webapp.projects.access import readable
from webapp.projects.models import Invitation, Membership, Project, Role, default_project
from webapp.projects.reader import reading_as
from webapp.runs.labels import move_to
from webapp.runs.models import Run
from webapp.runs.queue import Holder, standing_at

pytestmark = pytest.mark.django_db


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def roles_in(project: Project) -> dict[str, str]:
    return dict(project.memberships.values_list("user__username", "role"))


def secret_in(page: str) -> str:
    found = re.search(r"/projects/join/([^/]+)/", page)
    assert found is not None
    return found[1]


def test_one_person_alone_is_the_admin_of_the_only_project_and_is_asked_for_none(browser: Client) -> None:
    assert roles_in(default_project()) == {"ada": "admin"}
    for address in ("/environments/new/", "/runs/import/", "/reports/new/", "/suites/new/"):
        assert 'name="project"' not in browser.get(address).content.decode(), address
    assert 'aria-label="Project"' not in browser.get("/runs/").content.decode()
    browser.post("/runs/quick-start/", {"preset": "starter"})
    assert Run.objects.get().project == default_project()


def test_later_users_have_no_project_until_they_are_invited(browser: Client) -> None:
    run = a_run("calm-otter")
    eve = signed_in(User.objects.create_user("eve"))
    assert "calm-otter" not in eve.get("/runs/").content.decode()
    refused = eve.get("/runs/new/")
    assert refused.status_code == 403
    assert "You are not an editor of any project" in refused.content.decode()
    assert eve.get(f"/api/v1/runs/{run.pk}/").json()["error"] == f"There is no run '{run.pk}'"


def test_a_refusal_names_the_role_that_is_needed_and_who_gives_it(browser: Client) -> None:
    run = a_run("calm-otter")
    bo = signed_in(a_member("bo", Role.VIEWER))
    page = bo.get(f"/runs/{run.pk}/").content.decode()
    assert "You are a viewer here" in page
    assert 'data-control="stop"' not in page
    assert 'id="rename-dialog"' not in page
    refused = bo.post(f"/runs/{run.pk}/control/", {"action": "stop"})
    text = refused.content.decode()
    assert refused.status_code == 403
    assert "Only an editor can do this" in text
    assert "In the project Default you are a viewer. Ask ada for the role." in text
    as_json = bo.post(f"/api/v1/runs/{run.pk}/control", {"action": "stop"}, content_type="application/json")
    assert as_json.status_code == 403
    assert as_json.json() == {
        "error": "Only an editor can do this",
        "remedy": "In the project Default you are a viewer. Ask ada for the role.",
    }
    script = bo.post(f"/runs/{run.pk}/control/", {"action": "stop"}, headers={"accept": "application/json"})
    assert script.json()["error"] == "Only an editor can do this"


def test_only_admins_delete_runs(browser: Client) -> None:
    run = a_run()
    bo = signed_in(a_member("bo", Role.EDITOR))
    given = {"action": "delete", "run": run.pk, "confirmed": "1"}
    assert bo.post("/runs/bulk/", given).status_code == 403
    assert browser.post("/runs/bulk/", given).status_code != 403


def test_actions_on_several_runs_need_the_role_in_each_and_change_none_otherwise(browser: Client) -> None:
    lakes = a_project("Lakes", bo=Role.EDITOR)
    mine, theirs = a_run("mine"), a_run("theirs")
    Run.objects.filter(pk=mine.pk).update(project=lakes)
    bo = User.objects.get(username="bo")
    Membership.objects.create(project=default_project(), user=bo, role=Role.VIEWER)
    answer = signed_in(bo).post("/runs/bulk/", {"action": "tag", "tags": "x", "run": [mine.pk, theirs.pk]})
    assert answer.status_code == 403
    assert (mine.tags.count(), theirs.tags.count()) == (0, 0)


def test_a_run_is_moved_by_an_admin_of_its_project_to_one_that_they_edit(browser: Client, user: User) -> None:
    run, lakes = a_run(), a_project("Lakes", bo=Role.EDITOR)
    editor = signed_in(a_member("cyd", Role.EDITOR))
    Membership.objects.create(project=lakes, user=User.objects.get(username="cyd"), role=Role.EDITOR)
    assert editor.post(f"/runs/{run.pk}/labels/", {"project": "lakes"}).status_code == 403
    Membership.objects.create(project=lakes, user=user, role=Role.VIEWER)
    assert browser.post(f"/runs/{run.pk}/labels/", {"project": "Lakes"}).status_code == 403
    Membership.objects.filter(project=lakes, user=user).update(role=Role.EDITOR)
    assert browser.post(f"/runs/{run.pk}/labels/", {"project": "Lakes"}).status_code == 302
    run.refresh_from_db()
    assert run.project == lakes


def test_a_fork_of_a_run_that_one_cannot_read_is_refused(browser: Client) -> None:
    run = a_run()
    a_project("Lakes", bo=Role.EDITOR)
    bo = signed_in(User.objects.get(username="bo"))
    start = {"model.start_from.run": run.pk, "model.start_from.step": 1}
    answer = bo.post("/api/v1/runs/", {"preset": "starter", "overrides": start}, content_type="application/json")
    assert answer.status_code in (409, 422)
    assert "does not exist" in answer.content.decode()
    assert Run.objects.count() == 1


def test_a_name_that_another_project_has_stays_that_projects(browser: Client) -> None:
    """A program names its project; one that the user cannot see is not joined by its name."""
    theirs = a_project("Lakes", bo=Role.ADMIN)
    eve = signed_in(User.objects.create_user("eve"))
    body = {"source": "verl", "name": "a run", "project": "Lakes"}
    made = eve.post("/api/v1/external-runs/", body, content_type="application/json")
    assert made.status_code == 201
    run = Run.objects.get()
    assert (run.project.name, run.project.slug) == ("Lakes", "lakes-2")
    assert run.project != theirs
    assert roles_in(run.project) == {"eve": "admin"}


def test_administrators_of_the_installation_read_and_do_everything(browser: Client) -> None:
    run = a_run()
    Run.objects.update(project=a_project("Lakes"))
    root = signed_in(User.objects.create_user("root", is_staff=True))
    assert root.get(f"/runs/{run.pk}/").status_code == 200
    assert root.get("/projects/lakes/").status_code == 200
    assert browser.get(f"/runs/{run.pk}/").status_code == 404


def test_nobody_reads_everything_by_accident() -> None:
    """Without a reader, as in workers, all rows are read; an anonymous one reads none."""
    from django.contrib.auth.models import AnonymousUser

    a_run()
    assert readable(Run.objects.all()).count() == 1
    with reading_as(AnonymousUser()):
        assert readable(Run.objects.all()).count() == 0
    assert readable(Run.objects.all()).count() == 1


def test_roles_are_given_changed_and_taken_with_entries_in_the_log(browser: Client) -> None:
    project = default_project()
    bo = a_member("bo", Role.VIEWER)
    address = f"/projects/default/members/{bo.pk}/"
    browser.post(address, {"action": "role", "role": "editor"})
    assert roles_in(project) == {"ada": "admin", "bo": "editor"}
    page = browser.get("/projects/default/").content.decode()
    assert "changed a role" in page
    assert "role viewer → editor" in page
    browser.post(address, {"action": "remove"})
    assert roles_in(project) == {"ada": "admin"}
    assert signed_in(bo).get("/projects/default/").status_code == 404
    assert [entry.action for entry in AuditEntry.objects.filter(kind="project")] == ["remove_member", "role"]


def test_the_last_admin_stays(browser: Client, user: User) -> None:
    bo = a_member("bo", Role.ADMIN)
    address = f"/projects/default/members/{user.pk}/"
    signed_in(bo).post(f"/projects/default/members/{bo.pk}/", {"action": "role", "role": "viewer"})
    for given in ({"action": "remove"}, {"action": "role", "role": "editor"}):
        page = browser.post(address, given, follow=True).content.decode()
        assert "ada is the last admin of Default. Make another member admin first." in page
    assert roles_in(default_project()) == {"ada": "admin", "bo": "viewer"}


def test_a_member_leaves_without_being_an_admin(browser: Client) -> None:
    bo = a_member("bo", Role.VIEWER)
    answer = signed_in(bo).post(f"/projects/default/members/{bo.pk}/", {"action": "remove"})
    assert answer["Location"] == "/projects/"
    assert roles_in(default_project()) == {"ada": "admin"}


def test_an_invitation_is_shown_once_works_once_and_is_stored_as_a_hash(browser: Client) -> None:
    page = browser.post("/projects/default/invitations/", {"role": "editor", "days": "7"}).content.decode()
    secret = secret_in(page)
    assert secret not in browser.get("/projects/default/").content.decode()
    assert secret not in repr(Invitation.objects.values())
    eve, mallory = User.objects.create_user("eve"), User.objects.create_user("mallory")
    address = f"/projects/join/{secret}/"
    assert "Join Default" in signed_in(eve).get(address).content.decode()
    assert "eve" not in roles_in(default_project())  # looking uses nothing up
    signed_in(eve).post(address)
    assert roles_in(default_project()) == {"ada": "admin", "eve": "editor"}
    refused = signed_in(mallory).post(address)
    assert refused.status_code == 410
    assert "already been used" in refused.content.decode()
    assert "mallory" not in roles_in(default_project())
    assert [entry.action for entry in AuditEntry.objects.filter(kind="project")] == ["join", "invite"]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"expires_at": timezone.now() - timedelta(minutes=1)}, "has expired"),
        ({"revoked_at": timezone.now()}, "was revoked"),
    ],
)
def test_a_closed_invitation_says_why(browser: Client, user: User, columns: dict[str, object], words: str) -> None:
    secret = services.invite(default_project(), user, Role.EDITOR, days=1)
    Invitation.objects.update(**columns)
    answer = signed_in(User.objects.create_user("eve")).post(f"/projects/join/{secret}/")
    assert answer.status_code == 410
    assert words in answer.content.decode()


def test_an_invitation_lowers_nobody(browser: Client, user: User) -> None:
    secret = services.invite(default_project(), user, Role.VIEWER, days=1)
    browser.post(f"/projects/join/{secret}/")
    assert roles_in(default_project()) == {"ada": "admin"}


def test_an_invitation_is_mailed_where_mail_is_configured(browser: Client, settings: Settings) -> None:
    given = {"role": "viewer", "days": "1", "email": "bo@example.org"}
    browser.post("/projects/default/invitations/", given)
    assert mail.outbox == []
    settings.EMAIL_HOST = "mail.example.org"
    secret = secret_in(browser.post("/projects/default/invitations/", given).content.decode())
    [sent] = mail.outbox
    assert sent.to == ["bo@example.org"]
    assert f"/projects/join/{secret}/" in sent.body


def test_a_project_is_deleted_when_nothing_belongs_to_it(browser: Client, user: User) -> None:
    browser.post("/projects/new/", {"name": "Lakes"})
    lakes = Project.objects.get(slug="lakes")
    assert roles_in(lakes) == {"ada": "admin"}
    run = a_run()
    move_to(run, lakes, user)
    page = browser.post("/projects/lakes/delete/", follow=True).content.decode()
    assert "Move its runs to another project" in page
    move_to(run, default_project(), user)
    browser.post("/projects/lakes/delete/")
    assert not Project.objects.filter(slug="lakes").exists()
    page = browser.post("/projects/default/delete/", follow=True).content.decode()
    assert "The first project of an installation cannot be deleted" in page


def test_a_renamed_project_is_found_by_its_new_name(browser: Client) -> None:
    a_run("calm-otter")
    browser.post("/projects/default/settings/", {"name": "Thesis", "description": "Of ada."})
    assert "calm-otter" in browser.get("/runs/rows/", {"q": "thesis"}).content.decode()
    assert "calm-otter" not in browser.get("/runs/rows/", {"q": "default"}).content.decode()


def test_a_user_is_added_from_a_shell() -> None:
    User.objects.create_user("ada")
    User.objects.create_user("bo")
    call_command("add_member", "bo", "default", "viewer")
    assert roles_in(default_project()) == {"ada": "admin", "bo": "viewer"}


def test_the_queue_names_no_runs_of_other_projects(browser: Client, settings: Settings) -> None:
    settings.STARBOARD_MAX_PARALLEL_RUNS = 1
    holder = a_run("hidden-holder")
    Run.objects.filter(pk=holder.pk).update(state="running")
    waits = a_run("mine")
    Run.objects.filter(pk=waits.pk).update(project=a_project("Lakes", bo=Role.EDITOR))
    bo = signed_in(User.objects.get(username="bo"))
    for address in ("/queue/", "/api/v1/queue/", f"/runs/{waits.pk}/", "/runs/"):
        page = bo.get(address).content.decode()
        assert "hidden-holder" not in page, address
        assert "mine" in page, address
    waiting = standing_at(1, 1, [Holder("a", "hidden-holder", "running", project_id=1)], 1, project_id=2)
    assert "Waits for a run of another project" in waiting.text


def test_the_list_counts_members_and_the_runs_that_are_not_archived(browser: Client) -> None:
    for name in ("eve", "bob"):
        a_member(name)
    a_run("calm-otter")
    a_run("brave-fox")
    archived = a_run("old-owl")
    archived.archived_at = timezone.now()
    archived.save()
    row = re.search(r"<tbody>.*?</tbody>", browser.get("/projects/").content.decode(), re.DOTALL)
    assert row is not None
    # ada, who is the first user, eve and bob; two of three runs
    assert re.findall(r"(\d+)</(?:a|td)>", row[0]) == ["3", "2"]
