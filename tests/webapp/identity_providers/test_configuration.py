"""What the environment says of identity providers: off by default, and half of a configuration is refused."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from pytest_django import Settings

from tests.webapp.identity_providers.browser import onward, query_of
from webapp.identity_providers.apps import IdentityProvidersConfig
from webapp.identity_providers.configuration import Admission, IdentityProvider, admission, identity_providers

OPENID = {
    "STARBOARD_OIDC_ISSUER": "https://login.example.org/realms/lab",
    "STARBOARD_OIDC_CLIENT_ID": "starboard",
    "STARBOARD_OIDC_CLIENT_SECRET": "a secret",
}
GITHUB = {
    "STARBOARD_SOCIAL_PROVIDERS": "github",
    "STARBOARD_SOCIAL_GITHUB_CLIENT_ID": "an id",
    "STARBOARD_SOCIAL_GITHUB_CLIENT_SECRET": "a secret",
    "STARBOARD_SOCIAL_GITHUB_NAME": "GitHub",
    "STARBOARD_SIGN_IN_DOMAINS": "example.org",
}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    return monkeypatch


def given(environment: pytest.MonkeyPatch, values: dict[str, str]) -> None:
    for name, value in values.items():
        environment.setenv(name, value)


def test_there_are_none_by_default() -> None:
    assert identity_providers() == {}
    assert admission() == Admission()


def test_one_of_openid_connect_and_social_ones_with_their_secrets_out_of_sight(
    environment: pytest.MonkeyPatch,
) -> None:
    given(environment, OPENID | GITHUB | {"STARBOARD_OIDC_NAME": "the lab", "STARBOARD_OIDC_SCOPES": "groups"})
    found = identity_providers()
    assert [(key, one.name) for key, one in found.items()] == [("oidc", "the lab"), ("github", "GitHub")]
    assert found["oidc"].scopes == ("openid", "profile", "email", "groups")
    assert "a secret" not in repr(found)
    assert admission().domains == {"example.org"}


@pytest.mark.parametrize("missing", list(OPENID))
def test_a_part_that_is_missing_is_named(environment: pytest.MonkeyPatch, missing: str) -> None:
    given(environment, {name: value for name, value in OPENID.items() if name != missing})
    with pytest.raises(ImproperlyConfigured, match=f"and {missing} is not"):
        identity_providers()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (OPENID | {"STARBOARD_OIDC_ISSUER": "http://login.example.org"}, "Give the https address"),
        (OPENID | {"STARBOARD_OIDC_ISSUER": "login.example.org"}, "Give the https address"),
        ({"STARBOARD_SOCIAL_PROVIDERS": "gitub"}, "Give names of django-allauth's providers.* github"),
        ({"STARBOARD_SOCIAL_PROVIDERS": "github"}, "GITHUB_CLIENT_ID and STARBOARD_SOCIAL_GITHUB_CLIENT_SECRET"),
        (GITHUB | {"STARBOARD_SOCIAL_GITHUB_CLIENT_SECRET": ""}, "SECRET is not"),
        (GITHUB | {"STARBOARD_SIGN_IN_DOMAINS": ""}, "anyone with an account there could sign in"),
    ],
)
def test_a_wrong_provider_is_refused(environment: pytest.MonkeyPatch, changes: dict[str, str], words: str) -> None:
    given(environment, changes)
    with pytest.raises(ImproperlyConfigured, match=words):
        identity_providers()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"STARBOARD_SIGN_IN_DOMAINS": "example"}, "Give domains of e-mail addresses"),
        ({"STARBOARD_SIGN_IN_ROLE": "admin"}, "Give .*viewer or editor"),
        ({"STARBOARD_SIGN_IN_DOMAINS": "a.org", "STARBOARD_SIGN_IN_UNVERIFIED_EMAIL": "1"}, "proves no domain"),
    ],
)
def test_a_wrong_rule_is_refused(environment: pytest.MonkeyPatch, changes: dict[str, str], words: str) -> None:
    given(environment, changes)
    with pytest.raises(ImproperlyConfigured, match=words):
        admission()


def test_a_star_admits_every_domain(environment: pytest.MonkeyPatch) -> None:
    given(environment, GITHUB | {"STARBOARD_SIGN_IN_DOMAINS": "*"})
    assert set(identity_providers()) == {"github"}
    assert admission().domains == frozenset()


def social(settings: Settings, key: str) -> None:
    one = IdentityProvider(key=key, name=key.title(), client_id="an id", client_secret="a secret")
    settings.STARBOARD_IDENTITY_PROVIDERS = {key: one}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("key", "address"),
    [
        ("github", "https://github.com/login/oauth/authorize"),
        ("google", "https://accounts.google.com/o/oauth2/v2/auth"),
        ("gitlab", "https://gitlab.com/oauth/authorize"),
    ],
)
def test_a_social_provider_is_asked_with_our_address(
    client: Client, settings: Settings, key: str, address: str
) -> None:
    social(settings, key)
    asked = onward(client.post(f"/accounts/sign-in-with/{key}/"))
    assert asked.partition("?")[0] == address
    query = query_of(asked)
    assert query["redirect_uri"] == f"http://testserver/accounts/sign-in-with/{key}/callback/"
    assert query["client_id"] == "an id"
    assert query["state"]


def test_a_provider_of_another_protocol_ends_the_start(settings: Settings) -> None:
    from django.apps import apps

    social(settings, "telegram")
    config = apps.get_app_config("identity_providers")
    assert isinstance(config, IdentityProvidersConfig)
    with pytest.raises(ImproperlyConfigured, match="does not use OAuth 2"):
        config.ready()
