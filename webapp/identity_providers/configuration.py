"""The identity providers that the environment configures. Read by the settings, so without models or allauth."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from webapp import environ

OPENID = "oidc"  # the key of the OpenID Connect provider, in addresses and in identities
ANY_DOMAIN = "*"
ROLES = ("", "viewer", "editor")
LOOPBACK = {"127.0.0.1", "::1", "localhost"}
SCOPES = ("openid", "profile", "email")


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityProvider:
    """`key` is `oidc`, or django-allauth's name of a social provider. Those of OpenID Connect have an issuer."""

    key: str
    name: str  # on the button
    client_id: str
    client_secret: str = field(repr=False)
    issuer: str = ""
    scopes: tuple[str, ...] = ()
    groups_claim: str = "groups"
    groups: frozenset[str] = frozenset()  # who may sign in; everybody if empty
    administrator_groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Who may sign in through any of the providers, and what new users get."""

    domains: frozenset[str] = frozenset()  # of verified e-mail addresses; any if empty
    without_verified_email: bool = False
    role: str = ""  # in the default project


def identity_providers() -> dict[str, IdentityProvider]:
    """By key, in the order of their buttons."""
    openid = _openid()
    social = [_social(name) for name in environ.comma_separated("STARBOARD_SOCIAL_PROVIDERS")]
    found = {one.key: one for one in ([openid] if openid else []) + social}
    if social and not environ.comma_separated("STARBOARD_SIGN_IN_DOMAINS"):
        raise ImproperlyConfigured(
            "STARBOARD_SOCIAL_PROVIDERS is set and STARBOARD_SIGN_IN_DOMAINS is not, so that anyone with an account "
            "there could sign in. Give the domains of e-mail addresses that may sign in, such as example.org, or * "
            "for all."
        )
    return found


def admission() -> Admission:
    given = {one.lower().removeprefix("@") for one in environ.comma_separated("STARBOARD_SIGN_IN_DOMAINS")}
    for domain in given - {ANY_DOMAIN}:
        if not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+", domain):
            raise ImproperlyConfigured(
                f"STARBOARD_SIGN_IN_DOMAINS has {domain!r}. Give domains of e-mail addresses separated by commas, such "
                "as example.org, or * for all."
            )
    domains = frozenset() if ANY_DOMAIN in given else frozenset(given)
    without = environ.flag("STARBOARD_SIGN_IN_UNVERIFIED_EMAIL", False)
    if domains and without:
        raise ImproperlyConfigured(
            "STARBOARD_SIGN_IN_DOMAINS and STARBOARD_SIGN_IN_UNVERIFIED_EMAIL are both set. An address that is not "
            "verified proves no domain: unset one of them."
        )
    return Admission(
        domains=domains, without_verified_email=without, role=environ.choice("STARBOARD_SIGN_IN_ROLE", ROLES)
    )


def _openid() -> IdentityProvider | None:
    issuer, client_id, secret = _all_or_none(
        ["STARBOARD_OIDC_ISSUER", "STARBOARD_OIDC_CLIENT_ID", "STARBOARD_OIDC_CLIENT_SECRET"]
    )
    if not issuer:
        return None
    _check_issuer(issuer)
    scopes = environ.comma_separated("STARBOARD_OIDC_SCOPES")
    return IdentityProvider(
        key=OPENID,
        name=environ.text("STARBOARD_OIDC_NAME", "single sign-on"),
        client_id=client_id,
        client_secret=secret,
        issuer=issuer,
        scopes=tuple(dict.fromkeys([*SCOPES, *scopes])),
        groups_claim=environ.text("STARBOARD_OIDC_GROUPS_CLAIM", "groups"),
        groups=frozenset(environ.comma_separated("STARBOARD_OIDC_GROUPS")),
        administrator_groups=frozenset(environ.comma_separated("STARBOARD_OIDC_ADMINISTRATOR_GROUPS")),
    )


def _check_issuer(issuer: str) -> None:
    parts = urlsplit(issuer)
    is_private = parts.scheme == "http" and parts.hostname in LOOPBACK
    if not parts.hostname or not (parts.scheme == "https" or is_private) or parts.query or parts.fragment:
        raise ImproperlyConfigured(
            f"STARBOARD_OIDC_ISSUER is {issuer!r}. Give the https address of the provider without "
            "/.well-known/openid-configuration, such as https://login.example.org/realms/lab."
        )


def _social(name: str) -> IdentityProvider:
    known = social_provider_names()
    if name not in known:
        raise ImproperlyConfigured(
            f"STARBOARD_SOCIAL_PROVIDERS has {name!r}. Give names of django-allauth's providers separated by commas: "
            f"{', '.join(known)}."
        )
    prefix = f"STARBOARD_SOCIAL_{name.upper()}"
    client_id, secret = _all_or_none([f"{prefix}_CLIENT_ID", f"{prefix}_CLIENT_SECRET"])
    if not client_id:
        raise ImproperlyConfigured(
            f"STARBOARD_SOCIAL_PROVIDERS has {name!r}, so {prefix}_CLIENT_ID and {prefix}_CLIENT_SECRET are needed. "
            "Set both, or remove it."
        )
    return IdentityProvider(
        key=name, name=environ.text(f"{prefix}_NAME", name.title()), client_id=client_id, client_secret=secret
    )


def social_provider_names() -> list[str]:
    """Those whose code is installed with django-allauth, of whatever protocol."""
    from allauth import socialaccount

    folder = Path(socialaccount.__file__).parent / "providers"
    return sorted(found.parent.name for found in folder.glob("*/provider.py") if found.parent.name != "openid_connect")


def _all_or_none(names: Sequence[str]) -> list[str]:
    values = [environ.text(name) for name in names]
    missing = [name for name, value in zip(names, values, strict=True) if not value]
    if missing and len(missing) < len(names):
        given = [name for name in names if name not in missing]
        raise ImproperlyConfigured(
            f"{' and '.join(given)} {'is' if len(given) == 1 else 'are'} set, and {' and '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} not. Set all of them, or none."
        )
    return values
