"""Users with a password connect an identity to their account, and disconnect it, with that password."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.webapp.identity_providers.browser import onward, sign_in, signed_in_as, visit_provider
from tests.webapp.identity_providers.openid_server import OpenIdServer
from webapp.audit.services import entries_of

pytestmark = pytest.mark.django_db

PAGE, PASSWORD = "/account/", "correct horse 7 battery"


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", email="grace@example.org", password=PASSWORD)


def a_browser() -> Client:
    client = Client()
    assert client.post("/accounts/login/", {"username": "ada", "password": PASSWORD}).status_code == 302
    return client


def connect(client: Client, password: str = PASSWORD) -> str:
    """Where the provider sends the browser back to."""
    data = {"action": "identities", "connect": "oidc", "confirm_password": password}
    return visit_provider(onward(client.post(PAGE, data)))


def test_a_connected_identity_signs_in_to_the_account(ada: User, provider: OpenIdServer) -> None:
    browser = a_browser()
    assert "Connect Example SSO" in browser.get(PAGE).content.decode()
    answer = browser.get(connect(browser))
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    page = browser.get(PAGE).content.decode()
    assert "Example SSO, grace@example.org" in page
    assert "Connect Example SSO" not in page
    other = Client()
    sign_in(other)
    assert signed_in_as(other) == "ada"
    assert [one["description"] for one in entries_of(ada)] == ["connected a way to sign in"]


def test_connecting_needs_the_password(ada: User, provider: OpenIdServer) -> None:
    browser = a_browser()
    for given in ("", "wrong"):
        data = {"action": "identities", "connect": "oidc", "confirm_password": given}
        assert browser.post(PAGE, data).status_code == 422
    assert provider.requested == []


def test_an_identity_of_another_account_is_not_taken_from_it(ada: User, provider: OpenIdServer) -> None:
    provider.claims["email"] = "hopper@example.org"
    sign_in(Client())
    browser = a_browser()
    answer = browser.get(connect(browser))
    assert answer.status_code == 403
    assert "connected to another account" in answer.content.decode()
    assert ada.socialaccount_set.count() == 0


def test_an_identity_is_connected_to_the_user_who_asked_alone(ada: User, provider: OpenIdServer) -> None:
    browser = a_browser()
    back = connect(browser)
    eve = User.objects.create_user("eve", password=PASSWORD)
    session = browser.session
    states = session["socialaccount_states"]
    browser.force_login(eve)
    session = browser.session
    session["socialaccount_states"] = states
    session.save()
    answer = browser.get(back)
    assert answer.status_code == 403
    assert "no longer signed in" in answer.content.decode()
    assert not eve.socialaccount_set.exists()
    assert not ada.socialaccount_set.exists()


def test_a_disconnected_identity_no_longer_signs_in(ada: User, provider: OpenIdServer) -> None:
    browser = a_browser()
    browser.get(connect(browser))
    identity = ada.socialaccount_set.get()
    wrong = {"action": "identities", "disconnect": str(identity.pk), "confirm_password": "wrong"}
    assert browser.post(PAGE, wrong).status_code == 422
    browser.post(PAGE, {**wrong, "confirm_password": PASSWORD})
    assert not ada.socialaccount_set.exists()
    assert sign_in(Client()).status_code == 403, "the account has that address"


def test_identities_of_others_cannot_be_disconnected(ada: User, provider: OpenIdServer) -> None:
    browser = a_browser()
    browser.get(connect(browser))
    User.objects.create_user("eve", password=PASSWORD)
    eve = Client()
    eve.post("/accounts/login/", {"username": "eve", "password": PASSWORD})
    eve.post(
        PAGE,
        {"action": "identities", "disconnect": str(ada.socialaccount_set.get().pk), "confirm_password": PASSWORD},
    )
    assert ada.socialaccount_set.count() == 1


def test_an_account_without_a_password_connects_and_disconnects_nothing(provider: OpenIdServer) -> None:
    browser = Client()
    sign_in(browser)
    page = browser.get(PAGE).content.decode()
    assert "This account has no password." in page
    assert "Disconnect" not in page
    data = {"action": "identities", "disconnect": "1", "confirm_password": "anything"}
    assert browser.post(PAGE, data).status_code == 422
