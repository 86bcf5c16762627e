"""Signing in: a link works once and for ten minutes; wrong passwords are counted by account and by address."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from webapp.accounts import limits
from webapp.accounts.models import FailedSignIn, SignInToken
from webapp.accounts.services import Refused, digest, local_user, new_link, use_token

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse 7 battery"
HOME = "/"
LOGIN = "/accounts/login/"


def path_of(link: str) -> str:
    return link.partition(":8000")[2]


def token_of(link: str) -> str:
    return link.partition("token=")[2]


def signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def try_password(client: Client, name: str, password: str) -> str:
    return client.post(LOGIN, {"username": name, "password": password}).content.decode()


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", password=PASSWORD)


def test_a_link_signs_in_and_leaves_no_token_in_the_address_bar(client: Client, settings: Settings) -> None:
    settings.PORT = 8000
    answer = client.get(path_of(new_link(local_user())))
    assert (answer.status_code, answer["Location"]) == (302, HOME)
    assert signed_in(client)


@pytest.mark.parametrize(("bind", "host"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]"), ("[::1]", "[::1]")])
def test_a_link_leads_to_the_loopback_address_that_the_site_listens_on(
    bind: str, host: str, settings: Settings
) -> None:
    settings.PORT, settings.STARBOARD_BIND = 8000, bind
    assert new_link(local_user()).startswith(f"http://{host}:8000/")


def test_a_used_link_explains_how_to_get_a_new_one(client: Client, settings: Settings) -> None:
    settings.PORT = 8000
    link = path_of(new_link(local_user()))
    client.get(link)
    browser = Client()
    answer = browser.get(link)
    page = answer.content.decode()
    assert answer.status_code == 403
    assert "has already been used" in page
    assert "make link" in page
    assert not signed_in(browser)


def test_a_link_older_than_ten_minutes_is_refused() -> None:
    token = token_of(new_link(local_user()))
    SignInToken.objects.update(created_at=timezone.now() - timedelta(minutes=10, seconds=1))
    assert use_token(token) is Refused.EXPIRED


def test_a_link_just_below_ten_minutes_works() -> None:
    token = token_of(new_link(local_user()))
    SignInToken.objects.update(created_at=timezone.now() - timedelta(minutes=9, seconds=50))
    assert use_token(token) == local_user()


@pytest.mark.parametrize("token", ["", "x", "a" * 5000, "%00", "ß" * 43])
def test_a_made_up_token_is_refused(token: str) -> None:
    new_link(local_user())
    assert use_token(token) is Refused.UNKNOWN


def test_a_disabled_user_cannot_use_a_link() -> None:
    token = token_of(new_link(local_user()))
    User.objects.update(is_active=False)
    assert isinstance(use_token(token), Refused)


def test_the_database_stores_no_usable_token() -> None:
    token = token_of(new_link(local_user()))
    kept = SignInToken.objects.get()
    assert kept.digest == digest(token)
    assert token not in {str(value) for value in vars(kept).values()}
    assert use_token(kept.digest) is Refused.UNKNOWN


def test_links_can_be_disabled(client: Client, settings: Settings) -> None:
    link = new_link(local_user())
    settings.STARBOARD_SIGN_IN_LINKS = False
    assert client.get("/accounts/sign-in/", {"token": token_of(link)}).status_code == 403
    assert not signed_in(client)
    with pytest.raises(CommandError, match="Sign in with a password"):
        call_command("sign_in_link")


def test_signing_in_creates_a_new_session(client: Client, ada: User) -> None:
    session = client.session
    session["set by someone else"] = True
    session.save()
    before = session.session_key
    try_password(client, "ada", PASSWORD)
    assert signed_in(client)
    assert client.session.session_key != before


def test_five_wrong_passwords_lock_the_account_even_for_the_right_one(client: Client, ada: User) -> None:
    for _ in range(5):
        assert "Too many" not in try_password(client, "ada", "wrong")
    assert "Too many failed attempts" in try_password(client, "ada", PASSWORD)
    assert not signed_in(client)


def test_changing_case_or_browser_does_not_bypass_the_lock(ada: User) -> None:
    for name in ("ada", "ADA", "Ada ", " ada", "aDa"):
        try_password(Client(HTTP_X_FORWARDED_FOR=f"10.0.0.{len(name)}"), name, "wrong")
    assert "Too many" in try_password(Client(), "ada", PASSWORD)


def test_a_locked_account_opens_after_five_minutes_and_by_link_at_once(client: Client, ada: User) -> None:
    for _ in range(5):
        try_password(client, "ada", "wrong")
    assert use_token(token_of(new_link(ada))) == ada
    FailedSignIn.objects.update(at=timezone.now() - timedelta(minutes=5, seconds=1))
    try_password(client, "ada", PASSWORD)
    assert signed_in(client)


def at(address: str) -> Client:
    return Client(REMOTE_ADDR=address)


def test_thirty_wrong_passwords_a_minute_from_one_address_lock_that_address_alone(ada: User) -> None:
    FailedSignIn.objects.bulk_create(FailedSignIn(account=f"guess{n}", address="10.0.0.9") for n in range(30))
    assert "Too many" in try_password(at("10.0.0.9"), "ada", PASSWORD)
    elsewhere = at("10.0.0.1")
    try_password(elsewhere, "ada", PASSWORD)
    assert signed_in(elsewhere)


def test_guesses_from_another_address_do_not_lock_the_owner_out(ada: User) -> None:
    for _ in range(5):
        try_password(at("10.0.0.9"), "ada", "wrong")
    assert "Too many" in try_password(at("10.0.0.9"), "ada", PASSWORD)
    owner = at("10.0.0.1")
    try_password(owner, "ada", PASSWORD)
    assert signed_in(owner)
    # the owner's sign-in does not reset the count of the other address
    assert "Too many" in try_password(at("10.0.0.9"), "ada", PASSWORD)


def test_fifty_wrong_passwords_lock_an_account_for_every_address(ada: User) -> None:
    FailedSignIn.objects.bulk_create(FailedSignIn(account="ada", address=f"10.0.{n}.1") for n in range(49))
    assert "Too many" not in try_password(at("10.1.0.1"), "ada", "wrong")
    assert "Too many" in try_password(at("10.1.1.1"), "ada", PASSWORD)


def test_the_many_ipv6_addresses_of_one_machine_count_as_one(ada: User) -> None:
    for number in range(5):
        try_password(at(f"2001:db8::{number:x}"), "ada", "wrong")
    assert "Too many" in try_password(at("2001:db8:0:0:ffff::1"), "ada", PASSWORD)
    assert "Too many" not in try_password(at("2001:db8:0:1::1"), "ada", "wrong")


@pytest.mark.parametrize("links", [True, False])
def test_a_locked_account_mentions_sign_in_links_only_if_they_are_enabled(
    client: Client, ada: User, settings: Settings, links: bool
) -> None:
    settings.STARBOARD_SIGN_IN_LINKS = links
    assert ("make link" in client.get(LOGIN).content.decode()) == links
    for _ in range(6):
        page = try_password(client, "ada", "wrong")
    assert "Try again in five minutes" in page
    assert ("make link" in page) == links


def test_an_unknown_name_and_a_wrong_password_give_the_same_error(ada: User) -> None:
    known = try_password(Client(), "ada", "wrong")
    unknown = try_password(Client(), "eve", "wrong")
    assert "field-error" in known
    assert known.replace("ada", "eve").split("csrfmiddlewaretoken")[0] == unknown.split("csrfmiddlewaretoken")[0]


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]
)
def test_signing_in_never_redirects_to_another_site(target: str, client: Client, ada: User) -> None:
    answer = client.post(LOGIN, {"username": "ada", "password": PASSWORD, "next": target})
    assert answer["Location"] == HOME


def test_signing_out_needs_a_post_and_ends_the_session(client: Client, ada: User) -> None:
    client.force_login(ada)
    assert client.get("/accounts/logout/").status_code == 405
    client.post("/accounts/logout/")
    assert not signed_in(client)


def test_a_user_is_created_only_with_a_strong_password(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    monkeypatch.setenv("STARBOARD_PASSWORD", "12345")
    with pytest.raises(CommandError, match="too short"):
        call_command("create_user", "grace")
    monkeypatch.setenv("STARBOARD_PASSWORD", PASSWORD)
    call_command("create_user", "grace")
    try_password(client, "grace", PASSWORD)
    assert signed_in(client)


def test_attempts_at_the_same_time_cannot_pass_each_other(ada: User) -> None:
    """Twenty that are all admitted before any of them is checked: five."""
    assert [limits.admit("ada", "203.0.113.7") for _ in range(20)].count(True) == 5
    assert FailedSignIn.objects.count() == 5


def test_refused_attempts_do_not_count_towards_the_limit_of_the_account(ada: User) -> None:
    for _ in range(200):
        limits.admit("ada", "203.0.113.7")
    assert limits.admit("ada", "198.51.100.1")
