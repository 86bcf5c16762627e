"""Users see their sessions and end them; a new password ends all others."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from webapp.accounts.models import Scope
from webapp.accounts.tokens import new_token, working_tokens
from webapp.user_sessions.browsers import browser_name
from webapp.user_sessions.models import UserSession

pytestmark = pytest.mark.django_db

PAGE, PASSWORD, NEW = "/account/", "correct horse 7 battery", "nine purple trams at dawn"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
PHONE = (
    "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile "
    "Safari/537.36"
)


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", email="ada@example.org", password=PASSWORD)


def browser(agent: str = FIREFOX, address: str = "192.0.2.7", name: str = "ada") -> Client:
    """Signed in with a password, as a browser does it."""
    found = Client(headers={"user-agent": agent}, REMOTE_ADDR=address)
    answer = found.post("/accounts/login/", {"username": name, "password": PASSWORD})
    assert answer.status_code == 302
    return found


def signed_in(client: Client) -> bool:
    return client.get("/runs/").status_code == 200


def test_the_page_lists_browsers_with_their_addresses(ada: User) -> None:
    here = browser()
    browser(PHONE, "198.51.100.9")
    page = here.get(PAGE).content.decode()
    assert "Firefox on Linux" in page
    assert "Chrome on Android" in page
    assert "192.0.2.7" in page
    assert "198.51.100.9" in page
    assert page.count("this browser") == 1


def test_sessions_of_others_and_keys_are_not_shown(ada: User) -> None:
    User.objects.create_user("eve", password=PASSWORD)
    browser(PHONE, "198.51.100.9", name="eve")
    page = browser().get(PAGE).content.decode()
    assert "198.51.100.9" not in page
    assert not [key for key in UserSession.objects.values_list("session_key", flat=True) if key in page]


def handles(client: Client) -> list[str]:
    """Of the sessions that the page offers to end."""
    return re.findall(r'name="session" value="(\w+)"', client.get(PAGE).content.decode())


def test_one_other_session_is_ended_and_this_one_stays(ada: User) -> None:
    here, there, third = browser(), browser(PHONE), browser(PHONE)
    [newest, _] = handles(here)
    here.post(PAGE, {"action": "end", "session": newest})
    assert (signed_in(here), signed_in(there), signed_in(third)) == (True, True, False)


def test_nobody_ends_a_session_of_another_user(ada: User) -> None:
    User.objects.create_user("eve", password=PASSWORD)
    here, third = browser(), browser()
    eve = browser(name="eve")
    [handle] = handles(here)
    eve.post(PAGE, {"action": "end", "session": handle})
    assert signed_in(third)


def test_all_others_are_ended_at_once(ada: User) -> None:
    here, others = browser(), [browser(), browser(PHONE)]
    answer = here.post(PAGE, {"action": "end_others"}, follow=True)
    assert "2 other sessions were ended" in answer.content.decode()
    assert signed_in(here)
    assert not any(signed_in(one) for one in others)


def test_a_changed_password_ends_all_other_sessions_and_keeps_tokens(ada: User) -> None:
    new_token(ada, name="laptop", scopes=[Scope.READ], lifetime=timedelta(days=7))
    here, other = browser(), browser(PHONE)
    passwords = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}
    assert here.post(PAGE, {"action": "password", **passwords}).status_code == 302
    assert (signed_in(here), signed_in(other)) == (True, False)
    assert UserSession.objects.filter(user=ada).count() == 1
    assert working_tokens(ada) == 1
    assert Client().login(username="ada", password=NEW)


def test_a_changed_password_revokes_tokens_where_that_is_chosen(ada: User) -> None:
    new_token(ada, name="laptop", scopes=[Scope.READ], lifetime=timedelta(days=7))
    passwords = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW, "revoke_tokens": "on"}
    browser().post(PAGE, {"action": "password", **passwords})
    assert working_tokens(ada) == 0


def test_the_password_changes_only_with_the_old_one_which_cannot_be_guessed(ada: User) -> None:
    here = browser()
    wrong = {"action": "password", "old_password": "x", "new_password1": NEW, "new_password2": NEW}
    pages = [here.post(PAGE, wrong).content.decode() for _ in range(5)]
    assert all("The password is wrong" in page for page in pages)
    assert "Too many wrong passwords" in here.post(PAGE, {**wrong, "old_password": PASSWORD}).content.decode()
    assert Client().login(username="ada", password=PASSWORD)


def test_the_e_mail_address_changes_only_with_the_password(ada: User) -> None:
    here = browser()
    assert here.post(PAGE, {"action": "email", "email": "eve@example.org", "password": "x"}).status_code == 422
    ada.refresh_from_db()
    assert ada.email == "ada@example.org"
    here.post(PAGE, {"action": "email", "email": "lovelace@example.org", "password": PASSWORD})
    ada.refresh_from_db()
    assert ada.email == "lovelace@example.org"


def test_the_last_use_is_recorded_at_most_once_a_minute(ada: User) -> None:
    here = browser()
    sessions = UserSession.objects.filter(user=ada)
    hour_ago = timezone.now() - timedelta(hours=1)
    sessions.update(last_used_at=hour_ago)
    here.get("/runs/", REMOTE_ADDR="203.0.113.5")
    first = sessions.get()
    assert first.last_used_at > hour_ago
    assert first.address == "203.0.113.5"
    here.get("/runs/")
    assert sessions.get().last_used_at == first.last_used_at


def test_a_session_says_since_when_it_has_been_signed_in(ada: User) -> None:
    here = browser()
    day_ago = timezone.now() - timedelta(days=1)
    UserSession.objects.update(started_at=day_ago)
    passwords = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}
    here.post(PAGE, {"action": "password", **passwords})  # gives the session a new key
    assert UserSession.objects.get(user=ada).started_at == day_ago


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (FIREFOX, "Firefox on Linux"),
        (PHONE, "Chrome on Android"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/142.0 Safari/537.36 Edg/142.0", "Edge on Windows"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) AppleWebKit/605 Version/19.0 Safari/605.1", "Safari on macOS"),
        ("curl/8.5.0", "curl"),
        ("", "Unknown browser"),
    ],
)
def test_browsers_have_names(agent: str, name: str) -> None:
    assert browser_name(agent) == name
