"""What users do to their own accounts is in the audit log, which they and administrators see."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.test import Client
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from webapp.audit.models import AuditEntry
from webapp.audit.services import entries_of, entries_of_accounts

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
