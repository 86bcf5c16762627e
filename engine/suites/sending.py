"""Sends a finished evaluation to a site, which computes the numbers from its episodes. It may be sent again."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2

from engine.errors import ConfigError, StarboardError
from engine.rollout.trajectory_files import read_text
from engine.suites.outcomes import Outcome, read_outcomes
from engine.suites.store import ABOUT

TOKEN = "STARBOARD_TOKEN"  # noqa: S105 - the name of a variable
LARGEST_BATCH = 4 << 20  # bytes
TIMEOUT = 120.0
RETRIES, BUSY = 5, (429, 502, 503, 504)
WHERE = ("file", "offset", "length")  # of a trajectory in the directory


class SendingFailed(StarboardError):
    """The site did not take the evaluation."""


def send(directory: Path, url: str, *, again: bool = False, samples: int | None = None) -> str:
    """The address of the evaluation's page."""
    token = os.environ.get(TOKEN, "").strip()
    if not token:
        raise ConfigError(
            f"--send needs a personal token with the scope ingest in the variable {TOKEN}.",
            remedy="Create one on the page API tokens of the site.",
        )
    site = url.rstrip("/")
    if not site.startswith(("http://", "https://")):
        raise ConfigError("--send is not an http(s) address.", remedy="Give that of the site: http://127.0.0.1:8000.")
    with httpx2.Client(timeout=TIMEOUT, headers={"Authorization": f"Bearer {token}"}) as client:
        sender = _Sender(client, f"{site}/api/v1/played-evaluations/")
        pk = sender.announce(_about(directory), again=again, samples=samples)
        for batch in _batches(directory):
            sender.episodes(pk, batch)
        sender.post(f"{pk}/finish", b"", "application/json")
    return f"{site}/evaluations/{pk}/"


class _Sender:
    def __init__(self, client: httpx2.Client, address: str) -> None:
        self.client, self.address = client, address

    def announce(self, about: dict[str, Any], *, again: bool, samples: int | None) -> int:
        suite, policy = about["suite"], about["policy"]
        body = {
            "suite": suite["name"],
            "version": suite["version"],
            "samples": samples,
            "key": about["key"],
            "conditions": about["conditions"],
            "policy": policy,
            "versions": about["versions"],
            "again": again,
        }
        return int(self.post("", json.dumps(body).encode(), "application/json")["id"])

    def episodes(self, pk: int, batch: bytes) -> None:
        answer = self.post(f"{pk}/episodes", batch, "application/x-ndjson")
        if answer["rejected_count"]:
            first = answer["rejected"][0]["reason"]
            raise SendingFailed(
                f"The site rejected {answer['rejected_count']} episodes. The first: {first}",
                remedy="Update the site and this installation to the same version.",
            )

    def post(self, path: str, body: bytes, media: str) -> dict[str, Any]:
        for attempt in range(RETRIES + 1):
            try:
                answer = self.client.post(self.address + path, content=body, headers={"Content-Type": media})
            except httpx2.HTTPError as error:
                problem = f"{type(error).__name__}: {error}"
            else:
                if answer.status_code not in BUSY:
                    return _read(answer)
                problem = f"status {answer.status_code}"
            if attempt < RETRIES:
                time.sleep(min(8.0, 0.25 * 2**attempt))
        raise SendingFailed(
            f"{self.address} did not answer in {RETRIES + 1} attempts: {problem}.",
            remedy="Check that the site is running, then run the command again: it sends what is missing.",
        )


def _read(answer: httpx2.Response) -> dict[str, Any]:
    try:
        found: dict[str, Any] = answer.json()
    except ValueError:
        found = {}
    if answer.is_success and found:
        return found
    said = f"{found['error']}." if found.get("error") else answer.text[:200]
    raise SendingFailed(
        f"The site answered with status {answer.status_code}: {said}", remedy=str(found.get("remedy", ""))
    )


def _about(directory: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((directory / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{directory} has no evaluation: {error}", remedy="Give the --out of one.") from None
    return found


def _batches(directory: Path) -> Iterator[bytes]:
    lines: list[bytes] = []
    size = 0
    for outcome in read_outcomes(directory):
        line = _line(directory, outcome)
        if lines and size + len(line) > LARGEST_BATCH:
            yield b"\n".join(lines)
            lines, size = [], 0
        lines.append(line)
        size += len(line) + 1
    if lines:
        yield b"\n".join(lines)


def _line(directory: Path, outcome: Outcome) -> bytes:
    fields = {name: getattr(outcome, name) for name in outcome.__slots__ if name not in WHERE}
    trajectory = json.loads(read_text(directory / outcome.file, outcome.offset, outcome.length))
    return json.dumps({**fields, "trajectory": trajectory}, separators=(",", ":")).encode()
