"""How many requests a token may make in a minute, by scope, counted in the cache that all processes share.

Headers are those of the IETF draft "RateLimit header fields for HTTP": `RateLimit-Policy` has the quota and its window,
`RateLimit` what remains and the seconds until it is full again. Without the cache nothing is limited: limits protect
the site, and do not decide who may do what.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

from django.conf import settings
from django.core.cache import cache
from django.http.response import HttpResponseBase
from redis.exceptions import RedisError

from webapp.accounts.models import PersonalToken, Scope
from webapp.api.problems import Problem

log = logging.getLogger(__name__)

WINDOW = 60  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    scope: Scope
    quota: int
    left: int
    seconds: int  # until the next window

    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Policy": f'"{self.scope.value}";q={self.quota};w={WINDOW}',
            "RateLimit": f'"{self.scope.value}";r={self.left};t={self.seconds}',
        }

    def write_to(self, answer: HttpResponseBase) -> None:
        for name, value in self.headers().items():
            answer[name] = value


def spend(token: PersonalToken, scope: Scope) -> Allowance:
    """Counts one request; raises `Problem` with status 429 if the token has none left in this minute."""
    quota = int(settings.API_REQUESTS_PER_MINUTE[scope.value])
    now = time.time()
    window = int(now // WINDOW)
    seconds = int((window + 1) * WINDOW - now) + 1
    used = _count(f"api-limit:{token.pk}:{scope.value}:{window}")
    allowance = Allowance(scope=scope, quota=quota, left=max(0, quota - used), seconds=seconds)
    if used > quota:
        raise Problem(
            429,
            f"The token {token.name!r} has used its {quota} requests of scope {scope.value!r} in this minute",
            f"Wait {seconds} s, as Retry-After says.",
            headers={"Retry-After": str(seconds), **allowance.headers()},
        )
    return allowance


def _count(key: str) -> int:
    try:
        cache.add(key, 0, timeout=2 * WINDOW)
        return int(cache.incr(key))
    except (RedisError, OSError, ValueError) as error:  # ValueError: the key has just expired
        log.warning("Requests are not limited, the cache does not answer: %s", error)
        return 0
