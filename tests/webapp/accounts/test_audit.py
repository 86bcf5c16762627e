"""What users do to their own accounts is in the audit log, which they and administrators see."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.test import Client
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from tests.builders.suites import suite_version
from webapp.alerts.models import Webhook
from webapp.audit.models import AuditEntry
from webapp.audit.services import entries_in, entries_of, entries_of_accounts
from webapp.members.choices import new_project
from webapp.projects.models import Project
from webapp.runs.models import Run
from webapp.runs.services import submit_run
from webapp.runs.states import RunState

pytestmark = pytest.mark.django_db

OLD, NEW = "a wet harbour 7", "two dry anchors 9"


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", email="ada@example.org", password=OLD)


@pytest.fixture
def browser(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def found(user: User) -> list[tuple[str, str, str]]:
    """Oldest first."""
    return [(one["who"], one["description"], one["detail"]) for one in reversed(entries_of(user))]


def test_tokens_that_are_created_and_revoked(browser: Client, ada: User) -> None:
    page = browser.post("/accounts/tokens/", {"action": "create", "name": "cluster", "scopes": ["read"], "days": "30"})
    token = page.context["tokens"][0]
    for _ in range(2):  # the second time there is nothing to revoke
        browser.post("/accounts/tokens/", {"action": "revoke", "token": token.pk})
    assert [description for _, description, _ in found(ada)] == ["created an API token", "revoked an API token"]
    assert AuditEntry.objects.get(action="create_token").detail == {"token": "cluster", "scopes": "read", "days": 30}
    assert AuditEntry.objects.get(action="revoke_token").detail == {"token": "cluster"}
    assert page.context["fresh"] not in str(list(AuditEntry.objects.values()))
    assert [one["name"] for one in entries_of_accounts()] == ["ada", "ada"]


def test_a_password_that_is_changed(browser: Client, ada: User) -> None:
    given = {"action": "password", "old_password": OLD, "new_password1": NEW, "new_password2": NEW}
    browser.post("/account/", {**given, "old_password": "wrong"})
    assert found(ada) == []
    browser.post("/account/", given)
    assert found(ada) == [("ada", "changed the password, which ended all other sessions", "")]
    assert "changed the password, which ended all other sessions" in browser.get("/account/").content.decode()


def test_a_password_that_is_reset(ada: User) -> None:
    client = Client()
    where = f"/accounts/password-reset/{urlsafe_base64_encode(force_bytes(ada.pk))}/"
    page = client.get(f"{where}{default_token_generator.make_token(ada)}/", follow=True)
    client.post(page.request["PATH_INFO"], {"new_password1": NEW, "new_password2": NEW})
    assert found(ada) == [("ada", "replaced a forgotten password, which ended all sessions", "")]


def test_sessions_that_are_ended_and_an_address_that_is_changed(browser: Client, ada: User) -> None:
    Client().force_login(ada)
    for _ in range(2):  # the second time there is none to end
        browser.post("/account/", {"action": "end_others"})
    browser.post("/account/", {"action": "email", "email": "ada@example.com", "password": OLD})
    assert found(ada) == [
        ("ada", "ended other sessions", "sessions 1"),
        ("ada", "changed the e-mail address", ""),
    ]


def test_channels_of_notifications_without_the_secrets_in_their_addresses(browser: Client, ada: User) -> None:
    where, secret = "/settings/notifications/", "T0/B1/s3cret"
    browser.post(where, {"action": "add", "url": f"https://hooks.example.org/{secret}?key={secret}"})
    webhook = Webhook.objects.get()
    for action in ("renew", "switch", "remove", "remove"):  # the last time there is none
        browser.post(where, {"action": action, "webhook": webhook.pk})
    chosen = {"scope": "mine", "least_severity": "dead", "run_events": "none", "endings": "none"}
    for _ in range(2):  # the second time nothing changes
        browser.post(where, {"action": "save", "email": "ada@example.org", **chosen})
    assert found(ada) == [
        ("ada", "added a webhook", "host hooks.example.org"),
        ("ada", "replaced the signing secret of a webhook", "host hooks.example.org"),
        ("ada", "turned a webhook on or off", "on False; host hooks.example.org"),
        ("ada", "removed a webhook", "host hooks.example.org"),
        ("ada", "changed notifications", "changed least severity"),
    ]
    assert "s3cret" not in str(list(AuditEntry.objects.values()))


def test_a_public_link_of_another_user_that_an_administrator_revokes(browser: Client, ada: User) -> None:
    suite_version()
    page = browser.post("/leaderboard/links/", {"query": "suite=bandits"})
    root = User.objects.create_superuser("root")
    browser.force_login(root)
    browser.post(f"/leaderboard/links/{page.context['links'][0].pk}/revoke/")
    assert found(ada) == [
        ("ada", "created a public link to a leaderboard", "suite bandits"),
        ("root", "revoked a public link to a leaderboard", "suite bandits"),
    ]
    assert page.context["fresh"].rpartition("leaderboard/")[2].strip("/") not in str(list(AuditEntry.objects.values()))


def test_a_deleted_run_is_in_the_log_of_its_project_and_the_log_of_a_deleted_project_is_kept(
    browser: Client, ada: User
) -> None:
    project = new_project(ada, "Lakes")
    run = submit_run(owner=ada, config={}, name="calm-otter", project=project)
    Run.objects.filter(pk=run.pk).update(state=RunState.STOPPED)
    browser.post("/runs/bulk/", {"run": run.pk, "action": "delete", "confirmed": "1"})
    log = [(one["kind"], one["name"], one["description"]) for one in entries_in(project)]
    assert log == [("run", "calm-otter", "deleted it"), ("project", "Lakes", "created it")]
    browser.post(f"/projects/{project.slug}/delete/")
    assert not Project.objects.filter(slug=project.slug).exists()
    assert found(ada) == [("ada", "deleted a project", "project Lakes")]
    assert AuditEntry.objects.get(kind="run").object_name == "calm-otter"


def test_a_project_that_is_created_by_the_label_of_a_run(browser: Client, ada: User) -> None:
    run = submit_run(owner=ada, config={}, project=new_project(ada, "Lakes"))
    browser.post(f"/runs/{run.pk}/labels/", {"project": "Rivers"})
    rivers = Project.objects.get(name="Rivers")
    assert [(one["who"], one["description"]) for one in entries_in(rivers)] == [("ada", "created it")]
