"""Personal tokens: shown once, stored as a hash, refused when expired, revoked or mistyped, and never repeated."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from tests.webapp.runs.rows import a_run
from webapp.accounts.models import PersonalToken, Scope
from webapp.accounts.tokens import LENGTH, checksum, new_token
from webapp.audit.models import AuditEntry
from webapp.runs.models import Run

pytestmark = pytest.mark.django_db

PAGE, RUNS = "/accounts/tokens/", "/api/v1/runs/"
MONTH = timedelta(days=30)


def made(user: User, *scopes: Scope, name: str = "CI") -> str:
    return new_token(user, name=name, scopes=scopes or list(Scope), lifetime=MONTH)


def send(token: str, path: str = RUNS, *, client: Client | None = None, scheme: str = "Bearer") -> Any:
    return (client or Client()).get(path, headers={"Authorization": f"{scheme} {token}"})


def pause(token: str, run: Run) -> Any:
    """With the checks of a real browser's form."""
    strict = Client(enforce_csrf_checks=True)
    body = '{"action": "pause"}'
    path = f"{RUNS}{run.pk}/control"
    return strict.post(path, body, content_type="application/json", headers={"Authorization": f"Bearer {token}"})


def test_the_checksum_of_a_token_is_its_crc_32_in_base_62() -> None:
    # CRC-32 of "123456789" is 0xcbf43926 = 3421780262; 62^5 = 916132832, and 3421780262 in base 62 has the digits
    # 3 45 35 27 22 14: 3 * 916132832 = 2748398496, remainder 673381766 = 45 * 14776336 + 8446646,
    # 8446646 = 35 * 238328 + 105166, 105166 = 27 * 3844 + 1378, 1378 = 22 * 62 + 14
    assert checksum("123456789") == "".join(
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[digit] for digit in (3, 45, 35, 27, 22, 14)
    )


def test_a_token_is_shown_once_and_stored_as_a_hash(browser: Client) -> None:
    page = browser.post(PAGE, {"action": "create", "name": "cluster", "scopes": ["read", "ingest"], "days": "30"})
    token = page.context["fresh"]
    assert (len(token), token[:3]) == (LENGTH, "sb_")
    assert token in page.content.decode()
    assert page["Cache-Control"] == "private, no-store"
    later = browser.get(PAGE).content.decode()
    assert token not in later
    assert token[:8] in later
    row = PersonalToken.objects.get()
    assert token not in repr(row.__dict__)
    assert row.scopes == ["read", "ingest"]
    assert timedelta(days=29) < row.expires_at - timezone.now() < timedelta(days=30)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["all"]}, "scopes"),
        ({"days": "9999"}, "days"),
    ],
)
def test_a_form_with_an_error_creates_no_token(change: dict[str, Any], field: str, browser: Client) -> None:
    page = browser.post(PAGE, {"action": "create", "name": "a", "scopes": ["read"], "days": "7"} | change)
    assert page.status_code == 422
    assert list(page.context["form"].errors) == [field]
    assert not PersonalToken.objects.exists()


def test_a_token_reads_without_a_cookie_and_its_use_is_recorded(user: User) -> None:
    token = made(user, Scope.READ)
    assert send(token).status_code == 200
    used = PersonalToken.objects.get().last_used_at
    assert used is not None
    with CaptureQueriesContext(connection) as queried:
        send(token)
    assert PersonalToken.objects.get().last_used_at == used  # once a minute is enough
    assert not [query for query in queried.captured_queries if query["sql"].startswith("UPDATE")]


def test_a_token_needs_no_csrf_token_and_the_audit_log_names_it(user: User) -> None:
    run = a_run()
    assert pause(made(user, name="night shift"), run).status_code == 200
    entry = AuditEntry.objects.get(run=run)
    assert (entry.who, entry.token) == ("ada", "night shift")


def test_the_page_of_a_run_names_the_token(user: User, browser: Client) -> None:
    run = a_run()
    pause(made(user, name="night shift"), run)
    assert "ada, token night shift" in browser.get(f"/runs/{run.pk}/history/").content.decode()


def test_a_token_does_no_more_than_its_scopes_allow(user: User) -> None:
    run = a_run()
    answer = pause(made(user, Scope.READ, Scope.INGEST), run)
    assert answer.status_code == 403
    assert "it has read, ingest" in answer.json()["error"]
    assert not AuditEntry.objects.exists()


def test_a_revoked_token_is_refused(user: User, browser: Client) -> None:
    token = made(user)
    browser.post(PAGE, {"action": "revoke", "token": PersonalToken.objects.get().pk})
    answer = send(token)
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")
    assert "'CI' was revoked on" in answer.json()["error"]


def test_nobody_revokes_the_token_of_another_user(user: User) -> None:
    token = made(user)
    other = Client()
    other.force_login(User.objects.create_user("eve"))
    assert "CI" not in other.get(PAGE).content.decode()
    other.post(PAGE, {"action": "revoke", "token": PersonalToken.objects.get().pk})
    assert send(token).status_code == 200


def test_an_expired_token_is_refused(user: User) -> None:
    token = made(user)
    PersonalToken.objects.update(expires_at=timezone.now())
    assert "expired on" in send(token).json()["error"]


def test_the_token_of_a_disabled_account_is_refused(user: User) -> None:
    token = made(user)
    User.objects.update(is_active=False)
    assert send(token).status_code == 401


@pytest.mark.parametrize("wrong", ["", "sb_", "x", "sb_" + "a" * 36, "Ω" * 39])
def test_a_mistyped_token_is_refused_without_repeating_it(wrong: str) -> None:
    answer = send(wrong)
    assert answer.status_code == 401
    assert "mistyped" in answer.json()["error"]


def test_a_refused_token_is_not_saved_by_a_cookie(browser: Client) -> None:
    assert send("sb_x", client=browser).status_code == 401
    assert send("x", client=browser, scheme="Basic").status_code == 401


def test_a_token_opens_no_page(user: User) -> None:
    assert send(made(user), "/runs/").status_code == 302
    assert send(made(user), PAGE).status_code == 302


def test_no_log_and_no_answer_has_the_token(user: User, caplog: pytest.LogCaptureFixture) -> None:
    token = made(user, Scope.READ)
    with caplog.at_level(logging.DEBUG):
        answers = [send(token), send(token, f"{RUNS}nosuchrun/"), send(token, f"{RUNS}?x=1"), pause(token, a_run())]
        PersonalToken.objects.update(revoked_at=timezone.now())
        answers.append(send(token))
    assert [answer.status_code for answer in answers] == [200, 404, 400, 403, 401]
    for text in (caplog.text, *(answer.content.decode() for answer in answers)):
        assert token not in text
        assert token[8:] not in text


def test_a_token_that_made_its_requests_of_a_minute_waits(user: User, settings: Settings) -> None:
    cache.clear()  # which counts tokens of other tests under the same number
    settings.API_REQUESTS_PER_MINUTE = {"read": 2, "launch": 1, "ingest": 1}
    token, other = made(user), made(user)
    first, second, third = send(token), send(token), send(token)
    assert first["RateLimit-Policy"] == '"read";q=2;w=60'
    assert first["RateLimit"].startswith('"read";r=1;t=')
    assert (second.status_code, third.status_code) == (200, 429)
    assert 1 <= int(third["Retry-After"]) <= 61
    assert "2 requests" in third.json()["error"]
    assert pause(token, a_run()).status_code == 200  # of another scope
    assert send(other).status_code == 200
