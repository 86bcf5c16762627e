"""Signing in: by a link that works once within ten minutes, and by a password with limits."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from django.conf import settings as site
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from webapp.accounts.models import FailedSignIn, SignInToken
from webapp.accounts.services import digest, local_user, new_link

pytestmark = pytest.mark.django_db

PASSWORD = "a long enough password"


def link() -> str:
    """The link's path and token, as `make link` prints it."""
    out = io.StringIO()
    call_command("sign_in_link", stdout=out)
    return out.getvalue().strip().removeprefix(f"http://127.0.0.1:{site.PORT}")


def is_signed_in(client: Client) -> bool:
    return client.get("/api/v1/openapi.json").status_code == 200


def sign_in(client: Client, name: str, password: str = PASSWORD, **more: str) -> int:
    return int(client.post("/accounts/login/", {"username": name, "password": password, **more}).status_code)


@pytest.fixture
def user() -> User:
    return User.objects.create_user("ada", password=PASSWORD)


def test_a_link_signs_in_and_leaves_no_token_in_the_address(client: Client) -> None:
    answer = client.get(link())
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert answer["Referrer-Policy"] == "same-origin"
    assert answer["Cache-Control"] == "private, no-store"
    assert is_signed_in(client)


def test_a_second_use_says_so_and_how_to_get_a_new_one(client: Client) -> None:
    used = link()
    client.get(used)
    stranger = Client()
    answer = stranger.get(used)
    assert answer.status_code == 403
    assert "used already" in answer.content.decode()
    assert "make link" in answer.content.decode()
    assert not is_signed_in(stranger)


def test_a_link_ends_after_ten_minutes(client: Client) -> None:
    old = link()
    SignInToken.objects.update(created_at=timezone.now() - timedelta(minutes=10, seconds=1))
    answer = client.get(old)
    assert answer.status_code == 403
    assert "ten minutes" in answer.content.decode()
    assert not is_signed_in(client)


def test_a_link_of_nine_minutes_still_works(client: Client) -> None:
    fresh = link()
    SignInToken.objects.update(created_at=timezone.now() - timedelta(minutes=9))
    client.get(fresh)
    assert is_signed_in(client)


@pytest.mark.parametrize("token", ["", "x", "%00", "%ED%A0%80", "a" * 5000, "<script>"])
def test_a_made_up_token_signs_nobody_in(token: str, client: Client) -> None:
    answer = client.get(f"/accounts/sign-in/?token={token}")
    assert answer.status_code == 403
    assert "<script>alert" not in answer.content.decode()
    assert not is_signed_in(client)


def test_the_database_holds_no_usable_token() -> None:
    token = link().partition("token=")[2]
    kept = SignInToken.objects.get()
    assert kept.digest == digest(token)
    assert token not in kept.digest


def test_links_can_be_turned_off(client: Client, settings: Settings) -> None:
    made = new_link(local_user()).removeprefix(f"http://127.0.0.1:{site.PORT}")
    settings.STARBOARD_SIGN_IN_LINKS = False
    assert client.get(made).status_code == 403
    assert not is_signed_in(client)
    with pytest.raises(CommandError):
        link()


def test_a_link_of_somebody_who_was_locked_out_signs_nobody_in(client: Client) -> None:
    made = link()
    User.objects.update(is_active=False)
    assert client.get(made).status_code == 403
    assert not is_signed_in(client)


def test_a_session_s_key_from_before_signing_in_is_not_kept(client: Client) -> None:
    """Else whoever planted the cookie would be signed in too."""
    planted = client.session
    planted["seen"] = True
    planted.save()
    client.cookies[site.SESSION_COOKIE_NAME] = planted.session_key
    client.get(link())
    assert is_signed_in(client)
    assert client.session.session_key != planted.session_key


def test_a_password_signs_in_and_a_wrong_one_does_not(client: Client, user: User) -> None:
    assert sign_in(client, "ada", "wrong password") == 200
    assert not is_signed_in(client)
    assert sign_in(client, "ada") == 302
    assert is_signed_in(client)


def test_the_local_user_has_no_password_that_works(client: Client) -> None:
    local_user()
    assert sign_in(client, "local", "") == 200
    assert not is_signed_in(client)


def test_signing_out_ends_the_session(client: Client, user: User) -> None:
    sign_in(client, "ada")
    client.post("/accounts/logout/")
    assert not is_signed_in(client)


def test_signing_out_needs_a_post(client: Client, user: User) -> None:
    sign_in(client, "ada")
    assert client.get("/accounts/logout/").status_code == 405
    assert is_signed_in(client)


def test_five_wrong_passwords_lock_the_account_even_for_the_right_one(client: Client, user: User) -> None:
    for _ in range(5):
        sign_in(client, "ada", "wrong password", HTTP_X_FORWARDED_FOR="203.0.113.9")
    sign_in(client, "ADA ")
    answer = client.post("/accounts/login/", {"username": "ada", "password": PASSWORD})
    assert answer.status_code == 200
    assert "Wait five minutes" in answer.content.decode()
    assert not is_signed_in(client)


def test_a_locked_account_opens_again_and_links_work_meanwhile(client: Client, user: User) -> None:
    for _ in range(5):
        sign_in(client, "ada", "wrong password")
    client.get(link())
    assert is_signed_in(client)
    FailedSignIn.objects.update(at=timezone.now() - timedelta(minutes=5, seconds=1))
    assert sign_in(Client(), "ada") == 302


def test_one_account_s_failures_do_not_lock_another(user: User) -> None:
    for _ in range(5):
        sign_in(Client(), "bob", "wrong password")
    assert sign_in(Client(), "ada") == 302


def test_failures_over_all_accounts_are_limited_too(user: User) -> None:
    for number in range(30):
        FailedSignIn.objects.create(account=f"user{number}")
    assert sign_in(Client(), "ada") == 200


def test_a_right_password_forgets_the_wrong_ones(user: User) -> None:
    for _ in range(4):
        sign_in(Client(), "ada", "wrong password")
    assert sign_in(Client(), "ada") == 302
    assert FailedSignIn.objects.count() == 0


@pytest.mark.parametrize(
    "target",
    [
        "//evil.example",
        "/\\evil.example",
        "https:evil.example",
        "https://evil.example",
        "///evil.example",
        "http:///evil.example",
        "javascript:alert(1)",
        "/runs/\r\nSet-Cookie: a=b",
        "\\\\evil.example",
        "/%0d%0aevil",
    ],
)
def test_next_never_leads_elsewhere(target: str, client: Client, user: User) -> None:
    answer = client.post(f"/accounts/login/?next={target}", {"username": "ada", "password": PASSWORD, "next": target})
    assert answer.status_code == 302
    location = answer["Location"]
    assert location.startswith("/")
    assert not location.startswith(("//", "/\\"))
    assert "Set-Cookie: a" not in answer.headers.values()


def test_next_leads_back_to_the_page_that_was_asked_for(client: Client, user: User) -> None:
    wanted = client.get("/leaderboard/")["Location"]
    assert wanted == "/accounts/login/?next=/leaderboard/"
    answer = client.post(wanted, {"username": "ada", "password": PASSWORD, "next": "/leaderboard/"})
    assert answer["Location"] == "/leaderboard/"


def test_cookies_carry_the_port_and_are_out_of_reach_of_scripts(client: Client, user: User) -> None:
    client.get("/accounts/login/")
    sign_in(client, "ada")
    names = {f"starboard_session_{site.PORT}", f"starboard_csrf_{site.PORT}"}
    assert set(client.cookies) == names
    for name in names:
        assert client.cookies[name]["httponly"] is True
        assert client.cookies[name]["samesite"] == "Lax"


def test_a_cookie_of_another_installation_signs_nobody_in(client: Client, user: User) -> None:
    sign_in(client, "ada")
    other = Client()
    other.cookies[f"starboard_session_{site.PORT + 1}"] = client.session.session_key
    assert not is_signed_in(other)
