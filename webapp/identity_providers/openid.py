"""OpenID Connect as django-allauth speaks it, and what it leaves out: ids are always verified by signature, issuer,
audience, time and nonce, and what the userinfo endpoint says is believed of the same subject only."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from functools import lru_cache
from typing import Any

import jwt
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse

from webapp.identity_providers.configuration import IdentityProvider

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
REQUIRED = ["iss", "sub", "aud", "exp", "iat"]
LEEWAY = 60  # seconds that clocks may differ
TIMEOUT = 5
DISCOVERY_KEPT = 300
KEPT = ("iss", "sub", "email", "email_verified", "preferred_username", "name", "nonce")
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class OpenIdAdapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]  # without types
    @property
    def openid_config(self) -> dict[str, Any]:
        provider = self.get_provider()
        key = f"openid-configuration:{hashlib.sha256(provider.server_url.encode()).hexdigest()}"
        found: dict[str, Any] | None = cache.get(key)
        if found is None:
            found = _checked(super().openid_config, provider.app)
            cache.set(key, found, DISCOVERY_KEPT)
        return found

    def complete_login(self, request: HttpRequest, app: SocialApp, token: SocialToken, **kwargs: Any) -> SocialLogin:
        claims = self._verified(str(kwargs["response"].get("id_token") or ""), app)
        claims = {**self._userinfo(token, claims["sub"]), **claims}
        return self.get_provider().sociallogin_from_response(request, {"id_token": claims})

    def _verified(self, id_token: str, app: SocialApp) -> dict[str, Any]:
        config = self.openid_config
        try:
            key = _keys(config["jwks_uri"]).get_signing_key_from_jwt(id_token)
            claims: dict[str, Any] = jwt.decode(
                id_token,
                key,
                algorithms=ALGORITHMS,
                audience=app.client_id,
                issuer=config["issuer"],
                leeway=LEEWAY,
                options={"require": REQUIRED},
            )
        except jwt.PyJWTError as error:
            raise OAuth2Error(f"The id token is not valid: {error}") from error
        if claims.get("azp", app.client_id) != app.client_id:
            raise OAuth2Error("The id token is for another client")
        return claims

    def _userinfo(self, token: SocialToken, subject: str) -> dict[str, Any]:
        if not self.openid_config.get("userinfo_endpoint"):
            return {}
        with get_adapter().get_requests_session() as session:
            response = session.get(self.profile_url, headers={"Authorization": f"Bearer {token.token}"})
            response.raise_for_status()
            found = response.json()
        if not isinstance(found, dict) or found.get("sub") != subject:
            raise OAuth2Error("The userinfo endpoint answered about somebody else")
        return found


class OpenIdProvider(OpenIDConnectProvider):  # type: ignore[misc]  # without types
    oauth2_adapter_class = OpenIdAdapter

    def redirect(
        self, request: HttpRequest, process: str, next_url: str | None = None, data: Any = None, **kwargs: Any
    ) -> HttpResponse:
        """With a nonce, which the id token must bring back."""
        nonce = secrets.token_urlsafe(24)
        more = {"auth_params": {"nonce": nonce}, "nonce": nonce}
        answer: HttpResponse = super().redirect(request, process, next_url, data, **more, **kwargs)
        return answer

    def extract_uid(self, data: dict[str, Any]) -> str:
        """Of the issuer and its subject, so that another issuer cannot speak for the users of the one before it."""
        claims = data["id_token"]
        return hashlib.sha256(f"{claims['iss']}\n{claims['sub']}".encode()).hexdigest()

    def extract_extra_data(self, data: dict[str, Any]) -> dict[str, Any]:
        claims = data["id_token"]
        kept = {name: claims[name] for name in KEPT if name in claims}
        return {**kept, "groups": groups_of(claims, self.configured.groups_claim)}

    def extract_email_addresses(self, data: dict[str, Any]) -> list[Any]:
        """Some providers send the flag as text, of which `false` would be true."""
        claims = dict(data["id_token"])
        claims["email_verified"] = claims.get("email_verified") in (True, "true")
        found: list[Any] = super().extract_email_addresses({"id_token": claims})
        return found

    @property
    def configured(self) -> IdentityProvider:
        from django.conf import settings

        found: IdentityProvider = settings.STARBOARD_IDENTITY_PROVIDERS[self.app.provider_id]
        return found


def has_nonce(login: SocialLogin) -> bool:
    """Whether the id token answers the request that this browser made."""
    wanted, got = login.state.get("nonce"), login.account.extra_data.get("nonce")
    return isinstance(wanted, str) and isinstance(got, str) and hmac.compare_digest(wanted.encode(), got.encode())


def groups_of(claims: dict[str, Any], claim: str) -> list[str]:
    found = claims.get(claim)
    given = found if isinstance(found, list) else [found]
    return [one for one in given if isinstance(one, str)]


def _checked(config: dict[str, Any], app: SocialApp) -> dict[str, Any]:
    if not isinstance(config, dict) or str(config.get("issuer", "")).rstrip("/") != app.settings["server_url"]:
        raise OAuth2Error("The provider's configuration is of another issuer than STARBOARD_OIDC_ISSUER")
    if missing := [name for name in ENDPOINTS if not str(config.get(name, "")).startswith(("https://", "http://"))]:
        raise OAuth2Error(f"The provider's configuration has no {', '.join(missing)}")
    return config


@lru_cache(maxsize=4)
def _keys(address: str) -> jwt.PyJWKClient:
    """It keeps keys for five minutes, and fetches them again for one that it does not know."""
    return jwt.PyJWKClient(address, timeout=TIMEOUT)
