"""Requests that wait and try again: as long as the site asks for, else longer each time, with chance in it.

A request that may have reached the site is only repeated if that changes nothing: reading, and writing with an
`Idempotency-Key`. One that was refused with 429 or 503, or never sent, can always be repeated.
"""

from __future__ import annotations

import gzip
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2

from starboard_client.errors import BY_STATUS, ApiError, Unreachable

BUSY = frozenset({429, 503})
GATEWAY = frozenset({502, 504})  # perhaps the site did what was asked
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds
LONGEST_ASKED = 120.0  # what the site may ask for
KEY = "Idempotency-Key"


class Transport:
    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float,
        retries: int,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.retries = retries
        self._sleep = sleep
        self._http = httpx2.Client(
            base_url=f"{url.rstrip('/')}/api/v1/",
            headers={"Authorization": f"Bearer {token}", "User-Agent": "starboard-client"},
            timeout=timeout,
        )

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, **parameters: str | int | None) -> Any:
        given = {name.rstrip("_"): value for name, value in parameters.items() if value is not None}
        return self._request("GET", path, params=given)

    def post(self, path: str, body: Mapping[str, Any], *, key: str | None = None) -> Any:
        return self._request("POST", path, json=dict(body), headers={KEY: key} if key else {})

    def post_lines(self, path: str, lines: Sequence[bytes]) -> Any:
        """Compressed; each line has a number by which the site takes it once."""
        headers = {"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip"}
        return self._request("POST", path, content=gzip.compress(b"".join(lines), 5), headers=headers, repeatable=True)

    def post_file(self, path: str, body: bytes, *, key: str, **parameters: str) -> Any:
        """Compressed; sent again, it is the same request by its `key`."""
        headers = {"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip", KEY: key}
        packed = gzip.compress(body, 5, mtime=0)  # the same bytes each time: the key stands for one body
        return self._request("POST", path, content=packed, headers=headers, params=parameters)

    def download(self, path: str, **parameters: str | int | None) -> Iterator[bytes]:
        """An answer of any size, part by part. It is not asked for again once it has begun."""
        given = {name: value for name, value in parameters.items() if value is not None}
        attempt = 0
        while True:
            wait = backoff(attempt)
            try:
                with self._http.stream("GET", path, params=given) as answer:
                    if answer.status_code not in BUSY or attempt >= self.retries:
                        if not answer.is_success:
                            answer.read()
                            _content(answer)
                        yield from answer.iter_bytes()
                        return
                    wait = asked_for(answer.headers.get("Retry-After"), attempt)
            except httpx2.TransportError as error:
                raise Unreachable(f"{self._http.base_url} broke off: {str(error) or type(error).__name__}.") from error
            self._sleep(wait)
            attempt += 1

    def _request(self, method: str, path: str, *, repeatable: bool = False, **options: Any) -> Any:
        repeatable = repeatable or method == "GET" or KEY in options.get("headers", {})
        attempt = 0
        while True:
            last = attempt >= self.retries
            try:
                answer = self._http.request(method, path, **options)
            except httpx2.TransportError as error:
                sent = not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
                if last or (sent and not repeatable):
                    why = str(error) or type(error).__name__
                    raise Unreachable(f"{self._http.base_url} does not answer: {why}.") from error
                wait = backoff(attempt)
            else:
                again = answer.status_code in BUSY or (answer.status_code in GATEWAY and repeatable)
                wait = asked_for(answer.headers.get("Retry-After"), attempt)
                if not again or last or wait > LONGEST_ASKED:
                    return _content(answer)
            self._sleep(wait)
            attempt += 1


def backoff(attempt: int) -> float:
    """Between half and all of 0.5, 1, 2, … seconds, at most 30."""
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0**attempt) * random.uniform(0.5, 1.0)


def asked_for(header: str | None, attempt: int) -> float:
    """Seconds that `Retry-After` names, as a number or a date; without it, or with another text, the backoff."""
    if header is None:
        return backoff(attempt)
    if header.isascii() and header.isdigit():
        return float(header)
    try:
        until = parsedate_to_datetime(header)
    except ValueError:
        return backoff(attempt)
    return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _content(answer: httpx2.Response) -> Any:
    try:
        data: Any = answer.json()
    except ValueError:
        data = None
    if answer.is_success and data is not None:
        return data
    problem = data if isinstance(data, dict) else {}
    error = str(problem.get("error") or f"The address answered with status {answer.status_code}, and not as Starboard")
    remedy = str(problem.get("remedy") or "Check STARBOARD_URL: it is the address of the site, without a path.")
    kind = BY_STATUS.get(answer.status_code, ApiError)
    raise kind(answer.status_code, error, remedy, problem.get("errors"))
