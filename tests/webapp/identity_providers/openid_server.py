"""A provider of OpenID Connect on loopback: discovery, authorize, token, userinfo and keys, with ids that are really
signed. It signs in whoever `claims` describe, without asking; tests change what it answers."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET, KEY = "starboard", "a secret of the client", "key-1"
GRACE = {"sub": "grace-1", "email": "grace@example.org", "email_verified": True, "preferred_username": "grace"}


@dataclass
class OpenIdServer:
    issuer: str = ""
    claims: dict[str, Any] = field(default_factory=lambda: dict(GRACE))
    in_id: dict[str, Any] = field(default_factory=dict)  # what the id says instead
    in_userinfo: dict[str, Any] = field(default_factory=dict)  # and the userinfo endpoint
    in_discovery: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, dict[str, str]] = field(default_factory=dict)  # to codes: the query that was answered
    requested: list[str] = field(default_factory=list)  # paths
    key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))
    signs_with: Any = None  # instead of `key`
    algorithm: str = "RS256"

    def discovery(self) -> dict[str, Any]:
        found = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "jwks_uri": f"{self.issuer}/keys",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }
        return found | self.in_discovery

    def keys(self) -> dict[str, Any]:
        public = jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        return {"keys": [{**public, "kid": KEY, "use": "sig", "alg": "RS256"}]}

    def authorize(self, query: dict[str, str]) -> str:
        """Where the browser is sent back to."""
        code = secrets.token_urlsafe(8)
        self.answers[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def token(self, given: dict[str, str]) -> tuple[int, dict[str, Any]]:
        asked = self.answers.pop(given.get("code", ""), None)
        if asked is None or given.get("client_id") != CLIENT or given.get("client_secret") != SECRET:
            return 400, {"error": "invalid_grant"}
        challenge = base64.urlsafe_b64encode(hashlib.sha256(given.get("code_verifier", "").encode()).digest())
        if asked.get("code_challenge") != challenge.decode().rstrip("="):
            return 400, {"error": "invalid_grant", "error_description": "PKCE"}
        return 200, {"access_token": "an access token", "token_type": "Bearer", "id_token": self.id_token(asked)}

    def id_token(self, asked: dict[str, str]) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked.get("nonce")}
        claims |= self.claims | self.in_id
        claims = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(claims, self.signs_with or self.key, self.algorithm, headers={"kid": KEY})


def _handler(provider: OpenIdServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            provider.requested.append(parts.path)
            if parts.path == "/authorize":
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                self.send_response(302)
                self.send_header("Location", provider.authorize(query))
                self.end_headers()
            elif parts.path == "/userinfo":
                authorized = self.headers["Authorization"] == "Bearer an access token"
                self._json(200 if authorized else 401, provider.claims | provider.in_userinfo)
            elif parts.path == "/.well-known/openid-configuration":
                self._json(200, provider.discovery())
            else:
                self._json(200 if parts.path == "/keys" else 404, provider.keys())

        def do_POST(self) -> None:
            provider.requested.append(self.path)
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._json(*provider.token({name: values[0] for name, values in parse_qs(body).items()}))

        def _json(self, status: int, answer: dict[str, Any]) -> None:
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@contextlib.contextmanager
def an_openid_server() -> Iterator[OpenIdServer]:
    provider = OpenIdServer()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(provider))
    provider.issuer = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
