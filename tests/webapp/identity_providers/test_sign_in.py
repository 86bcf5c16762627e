"""People sign in through an identity provider, which runs and signs its ids; whatever is not right is refused."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from tests.webapp.identity_providers.browser import (
    CALLBACK,
    START,
    query_of,
    sign_in,
    signed_in_as,
    start,
    visit_provider,
)
from tests.webapp.identity_providers.conftest import configure
from tests.webapp.identity_providers.openid_server import OpenIdServer
from webapp.accounts.limits import OF_ACCOUNT_FROM_ADDRESS
from webapp.audit.services import entries_of
from webapp.identity_providers.configuration import Admission
from webapp.projects.models import Membership
from webapp.user_sessions.models import UserSession

pytestmark = pytest.mark.django_db

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"


def is_refused(answer: Any, words: str, client: Client) -> bool:
    assert answer.status_code == 403, answer.status_code
    assert words in answer.content.decode()
    assert signed_in_as(client) == ""
    return True


def test_the_first_sign_in_creates_an_account_without_a_password_or_a_project(
    client: Client, provider: OpenIdServer
) -> None:
    User.objects.create_user("ada")
    answer = sign_in(client)
    assert (answer.status_code, answer["Location"]) == (302, "/")
    grace = User.objects.get(username="grace")
    assert signed_in_as(client) == "grace"
    assert grace.email == "grace@example.org"
    assert not grace.has_usable_password()
    assert not grace.is_staff
    assert not Membership.objects.filter(user=grace).exists()
    assert [(one["who"], one["detail"]) for one in entries_of(grace)] == [("grace", "provider Example SSO")]


def test_the_first_user_of_an_installation_is_no_member_either(client: Client, provider: OpenIdServer) -> None:
    sign_in(client)
    assert not Membership.objects.exists()


def test_the_next_sign_in_is_to_the_same_account_also_under_another_name_and_address(
    client: Client, provider: OpenIdServer
) -> None:
    sign_in(client)
    provider.claims |= {"preferred_username": "hopper", "email": "hopper@example.org"}
    other = Client()
    sign_in(other)
    assert signed_in_as(other) == "grace"
    assert User.objects.count() == 1


def test_new_users_are_given_the_role_that_is_configured(
    client: Client, provider: OpenIdServer, settings: Settings
) -> None:
    settings.STARBOARD_ADMISSION = Admission(role="viewer")
    sign_in(client)
    membership = Membership.objects.get(user__username="grace")
    assert (membership.project.slug, membership.role) == ("default", "viewer")


def test_the_session_is_listed_with_its_browser_and_can_be_ended(provider: OpenIdServer) -> None:
    client = Client(headers={"user-agent": FIREFOX}, REMOTE_ADDR="192.0.2.7")
    sign_in(client)
    page = client.get("/account/").content.decode()
    assert "Firefox on Linux" in page
    assert "192.0.2.7" in page
    UserSession.objects.filter(user__username="grace").delete()
    assert signed_in_as(client) == ""


def test_signing_in_changes_the_session_key(client: Client, provider: OpenIdServer) -> None:
    back = visit_provider(start(client))
    before = client.session.session_key
    client.get(back)
    assert client.session.session_key != before


def test_the_request_has_a_state_a_nonce_and_a_challenge(client: Client, provider: OpenIdServer) -> None:
    asked = query_of(start(client))
    assert {"state", "nonce", "code_challenge"} <= set(asked)
    assert asked["response_type"] == "code"
    assert asked["redirect_uri"] == f"http://testserver{CALLBACK}"
    assert set(asked["scope"].split()) == {"openid", "profile", "email"}


def test_starting_needs_a_post_with_our_token(provider: OpenIdServer) -> None:
    strict = Client(enforce_csrf_checks=True)
    assert strict.get(START).status_code == 405
    assert strict.post(START).status_code == 403
    assert provider.requested == []


def test_without_providers_there_is_no_button_and_no_address(client: Client) -> None:
    assert "Sign in with" not in client.get("/accounts/login/").content.decode()
    assert client.post(START).status_code == 404
    assert client.get(CALLBACK).status_code == 404


def test_the_sign_in_page_has_a_button(client: Client, provider: OpenIdServer) -> None:
    page = client.get("/accounts/login/?next=/queue/").content.decode()
    assert "Sign in with Example SSO" in page
    assert f'action="{START}"' in page


def test_the_page_that_was_asked_for_follows(client: Client, provider: OpenIdServer) -> None:
    assert sign_in(client, next="/queue/?mine=1")["Location"] == "/queue/?mine=1"


@pytest.mark.parametrize(
    "elsewhere",
    ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", "http://testserver:81/"],
)
def test_nobody_is_sent_to_another_site_afterwards(client: Client, provider: OpenIdServer, elsewhere: str) -> None:
    assert sign_in(client, next=elsewhere)["Location"] == "/"


# What is refused


def test_a_state_that_this_browser_did_not_get(client: Client, provider: OpenIdServer) -> None:
    back = visit_provider(start(client))
    attacked = Client()
    assert is_refused(attacked.get(back), "could not be completed", attacked)
    assert not User.objects.exists()


def test_a_state_is_used_once(client: Client, provider: OpenIdServer) -> None:
    back = visit_provider(start(client))
    client.get(back)
    client.post("/accounts/logout/")
    assert is_refused(client.get(back), "could not be completed", client)


@pytest.mark.parametrize(
    "wrong",
    [
        {"nonce": "of another request"},
        {"nonce": None},
        {"iss": "https://other.example"},
        {"aud": "another-client"},
        {"aud": ["starboard", "another-client"], "azp": "another-client"},
        {"exp": int(time.time()) - 3600},
        {"exp": None},
        {"iat": int(time.time()) + 3600},
        {"sub": None},
    ],
    ids=[
        "nonce",
        "no nonce",
        "issuer",
        "audience",
        "authorized party",
        "expired",
        "no expiry",
        "from the future",
        "no subject",
    ],
)
def test_an_id_with_a_wrong_claim(client: Client, provider: OpenIdServer, wrong: dict[str, Any]) -> None:
    provider.in_id = wrong
    assert is_refused(sign_in(client), "could not be completed", client)
    assert not User.objects.exists()


def _another_key(provider: OpenIdServer) -> None:
    provider.signs_with = rsa.generate_private_key(65537, 2048)


def _no_signature(provider: OpenIdServer) -> None:
    provider.id_token = lambda asked: jwt.encode(  # type: ignore[method-assign]
        {
            **provider.claims,
            "iss": provider.issuer,
            "aud": "starboard",
            "iat": 1,
            "exp": 1 << 33,
            "nonce": asked["nonce"],
        },
        None,
        "none",
        headers={"kid": "key-1"},
    )


def _public_key_as_secret(provider: OpenIdServer) -> None:
    """The library refuses to sign so; an attacker's would not."""
    pem = provider.key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    provider.signs_with, provider.algorithm = pem.replace(b"-----", b""), "HS256"


@pytest.mark.parametrize("forge", [_another_key, _no_signature, _public_key_as_secret])
def test_an_id_with_a_wrong_signature(
    client: Client, provider: OpenIdServer, forge: Callable[[OpenIdServer], None]
) -> None:
    forge(provider)
    assert is_refused(sign_in(client), "could not be completed", client)


def test_userinfo_of_somebody_else(client: Client, provider: OpenIdServer) -> None:
    provider.in_userinfo = {"sub": "root-1", "email": "root@example.org"}
    assert is_refused(sign_in(client), "could not be completed", client)


def test_a_configuration_of_another_issuer(client: Client, provider: OpenIdServer) -> None:
    provider.in_discovery = {"issuer": "https://other.example"}
    assert client.post(START).status_code == 502


def test_a_provider_that_does_not_answer(client: Client, provider: OpenIdServer, settings: Settings) -> None:
    configure(settings, issuer="http://127.0.0.1:9")
    answer = client.post(START)
    assert answer.status_code == 502
    assert "Example SSO cannot be reached" in answer.content.decode()


def test_a_sign_in_that_was_cancelled_returns_to_the_sign_in_page(client: Client, provider: OpenIdServer) -> None:
    state = query_of(start(client))["state"]
    answer = client.get(CALLBACK, {"error": "access_denied", "state": state}, follow=True)
    assert "was cancelled" in answer.content.decode()


@pytest.mark.parametrize("flag", [False, "false", None])
def test_an_address_that_is_not_verified(client: Client, provider: OpenIdServer, flag: object) -> None:
    provider.claims["email_verified"] = flag
    assert is_refused(sign_in(client), "does not say that your e-mail address is verified", client)
    assert not User.objects.exists()


def test_an_address_that_is_not_verified_never_reaches_the_account_that_has_it(
    client: Client, provider: OpenIdServer, settings: Settings
) -> None:
    ada = User.objects.create_user("ada", email="grace@example.org", is_staff=True)
    provider.claims["email_verified"] = False
    assert is_refused(sign_in(client), "does not say that your e-mail address is verified", client)
    settings.STARBOARD_ADMISSION = Admission(without_verified_email=True)
    sign_in(client)
    assert signed_in_as(client) == "grace"
    assert User.objects.get(username="grace").email == "", "an address that is not verified is not kept"
    ada.refresh_from_db()
    assert (ada.email, ada.socialaccount_set.count()) == ("grace@example.org", 0)


def test_a_verified_address_of_an_account_signs_in_to_it_only_once_it_is_connected(
    client: Client, provider: OpenIdServer
) -> None:
    User.objects.create_user("ada", email="Grace@Example.org")
    assert is_refused(sign_in(client), "connect Example SSO on the page Account", client)
    assert User.objects.count() == 1


def test_a_domain_that_is_not_allowed(client: Client, provider: OpenIdServer, settings: Settings) -> None:
    settings.STARBOARD_ADMISSION = Admission(domains=frozenset({"lab.example"}))
    assert is_refused(sign_in(client), "Sign in with an e-mail address of lab.example", client)
    provider.claims["email"] = "grace@evil-lab.example"
    assert is_refused(sign_in(client), "of lab.example", client)
    provider.claims["email"] = "grace@LAB.example"
    sign_in(client)
    assert signed_in_as(client) == "grace"


def test_a_user_who_has_left_the_domain_is_refused_although_the_identity_is_known(
    client: Client, provider: OpenIdServer, settings: Settings
) -> None:
    settings.STARBOARD_ADMISSION = Admission(domains=frozenset({"example.org"}))
    sign_in(client)
    provider.claims["email"] = "grace@elsewhere.example"
    other = Client()
    assert is_refused(sign_in(other), "of example.org", other)


def test_a_user_in_none_of_the_groups(client: Client, provider: OpenIdServer, settings: Settings) -> None:
    configure(settings, groups=frozenset({"ml"}), groups_claim="teams")
    assert is_refused(sign_in(client), "in none of the groups", client)
    provider.claims["teams"] = ["web", "ml"]
    sign_in(client)
    assert signed_in_as(client) == "grace"


def test_groups_decide_at_each_sign_in_who_is_an_administrator(
    client: Client, provider: OpenIdServer, settings: Settings
) -> None:
    configure(settings, administrator_groups=frozenset({"operators"}))
    provider.claims["groups"] = ["operators"]
    sign_in(client)
    grace = User.objects.get(username="grace")
    assert grace.is_staff
    provider.claims["groups"] = ["ml"]
    sign_in(Client())
    grace.refresh_from_db()
    assert not grace.is_staff
    logged = [one["detail"] for one in entries_of(grace)]
    assert logged[:2] == [
        "administrator True → False; provider Example SSO",
        "administrator False → True; provider Example SSO",
    ]


def test_a_disabled_account(client: Client, provider: OpenIdServer) -> None:
    sign_in(client)
    User.objects.update(is_active=False)
    other = Client()
    assert is_refused(sign_in(other), "is disabled", other)


def test_the_same_subject_of_another_issuer_is_somebody_else(
    client: Client, provider: OpenIdServer, settings: Settings
) -> None:
    sign_in(client)
    provider.issuer = provider.issuer.replace("127.0.0.1", "localhost")
    configure(settings, issuer=provider.issuer)
    provider.claims |= {"email": "mallory@example.org"}
    other = Client()
    sign_in(other)
    assert signed_in_as(other) == "grace-2"


def test_the_name_of_make_link_and_taken_names_are_not_given(client: Client, provider: OpenIdServer) -> None:
    User.objects.create_user("Ada")
    for number, (given, expected) in enumerate([("local", "local-2"), ("ada", "ada-2"), ("<b>", "b"), ("é", "user")]):
        provider.claims |= {"sub": str(number), "preferred_username": given, "email": f"é{number}@example.org"}
        provider.claims["email"] = f"a{number}@example.org"
        browser = Client()
        sign_in(browser)
        assert signed_in_as(browser) == expected


def test_answers_that_are_not_valid_are_limited_for_their_network_alone(client: Client, provider: OpenIdServer) -> None:
    here = Client(REMOTE_ADDR="192.0.2.7")
    for _ in range(OF_ACCOUNT_FROM_ADDRESS):
        assert here.get(CALLBACK, {"code": "x", "state": "guessed"}).status_code == 403
    assert here.get(CALLBACK, {"code": "x", "state": "guessed"}).status_code == 429
    elsewhere = Client(REMOTE_ADDR="198.51.100.9")
    sign_in(elsewhere)
    assert signed_in_as(elsewhere) == "grace"


def test_answers_that_are_valid_and_refused_are_not_limited(
    client: Client, provider: OpenIdServer, settings: Settings
) -> None:
    settings.STARBOARD_ADMISSION = Admission(domains=frozenset({"lab.example"}))
    for _ in range(OF_ACCOUNT_FROM_ADDRESS + 1):
        assert sign_in(client).status_code == 403
