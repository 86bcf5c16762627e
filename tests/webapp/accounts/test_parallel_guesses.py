"""Twenty guesses of a password at the same moment, by real requests: no more of them are checked than one by one."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from tests.webapp.security.live_site import live_site
from webapp.accounts.limits import OF_ACCOUNT_FROM_ADDRESS
from webapp.accounts.models import FailedSignIn

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE = 20


@pytest.fixture
def origin(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A site that checks passwords slowly enough for others to come meanwhile: in about 50 ms."""
    monkeypatch.setattr(PBKDF2PasswordHasher, "iterations", 100_000)
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]
    with live_site(settings) as opened:
        yield opened


@pytest.fixture
def ada(origin: str) -> User:
    return User.objects.create_user("ada", password="correct horse 7 battery")


def guess_at_once(address: str, cookies: dict[str, str], data: dict[str, str]) -> list[str]:
    """The pages that `AT_ONCE` wrong passwords are answered with."""
    opened = requests.get(address, cookies=cookies, timeout=20)
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', opened.text)
    assert token, opened.text
    cookies = cookies | opened.cookies.get_dict()
    ready = threading.Barrier(AT_ONCE)

    def guess(number: int) -> str:
        form = {name: value.format(number) for name, value in data.items()} | {"csrfmiddlewaretoken": token[1]}
        ready.wait(20)
        return requests.post(address, form, cookies=cookies, headers={"Referer": address}, timeout=60).text

    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(guess, range(AT_ONCE)))


def test_of_twenty_passwords_at_the_sign_in_no_more_than_five_are_checked(origin: str, ada: User) -> None:
    pages = guess_at_once(f"{origin}/accounts/login/", {}, {"username": "ada", "password": "guess {}"})
    require_limit(pages, "Please enter a correct username and password")


def test_nor_by_a_session_whose_owner_does_not_know_the_password(origin: str, ada: User, settings: Settings) -> None:
    client = Client()
    client.force_login(ada)
    cookies = {settings.SESSION_COOKIE_NAME: client.cookies[settings.SESSION_COOKIE_NAME].value}
    new = "another horse 8 battery"
    form = {"action": "password", "old_password": "guess {}", "new_password1": new, "new_password2": new}
    require_limit(guess_at_once(f"{origin}/account/", cookies, form), "The password is wrong.")


def require_limit(pages: list[str], wrong: str) -> None:
    checked = sum(wrong in page for page in pages)
    assert sum("Too many" in page for page in pages) == AT_ONCE - checked
    assert FailedSignIn.objects.count() == checked <= OF_ACCOUNT_FROM_ADDRESS
