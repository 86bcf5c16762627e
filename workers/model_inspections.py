"""Inspects models for pages, in a process of its own: reading a foreign tokenizer may take long, or much memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import redis
from django.conf import settings

from engine.environment_calls.helper import CallFailed
from workers.process import REPOSITORY, WITHHELD

ANSWER_SECONDS = 60  # an answer that nobody reads is deleted


def answer_inspection(key: str, path: str, seconds: float) -> None:
    """Answers a call; the first message says only that it was taken up."""
    client = redis.Redis.from_url(settings.REDIS_URL)
    _send(client, key, {"taken": True})
    try:
        message: dict[str, Any] = {"result": inspect(path, seconds)}
    except CallFailed as error:
        message = {"error": str(error), "unasked": error.unasked}
    _send(client, key, message)
    client.close()


def inspect(path: str, seconds: float) -> dict[str, Any]:
    """The report of `python -m engine inspect-model` as JSON; `CallFailed` where there is none."""
    command = [sys.executable, "-m", "engine", "inspect-model", "--json", "--", path]
    environment = {name: value for name, value in os.environ.items() if name not in WITHHELD}
    try:
        done = subprocess.run(
            command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )
        return dict(json.loads(done.stdout))
    except subprocess.TimeoutExpired:
        raise CallFailed(f"The model could not be inspected within {seconds:g} s. Try again.") from None
    except ValueError:
        last = done.stderr.strip().rpartition("\n")[2]
        raise CallFailed(f"The model could not be inspected: {last or f'status {done.returncode}'}") from None


def _send(client: redis.Redis, key: str, message: dict[str, Any]) -> None:
    client.rpush(key, json.dumps(message))
    client.expire(key, ANSWER_SECONDS)
