"""How long a trajectory of 30,000 tokens takes to open in Chromium, from the click to drawn and coloured tokens.

The trajectory has 40 turns and is the newest of a run in a new SQLite database; the server runs in this process. Each
opening is a fresh page: from `goto` to the moment that the turn, its board and its coloured tokens are painted. Beside
it, the same for one turn of 30,000 tokens. Needs Chromium and `requirements/dev.txt`.

    python -m benchmarks.reader_opening [--tokens N]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from benchmarks.databases import prepare_site
from tests.e2e.chromium import CHROMIUM, FLAGS

REPEATS = 7
FILE = "trajectories/train/step_1.jsonl.zst"
# in the page from the start: the time, since the opening began, at which coloured tokens were painted
WATCH = """new MutationObserver((_, watch) => {
  if (!document.querySelector('.token--sampled')) return;
  watch.disconnect();
  requestAnimationFrame(() => requestAnimationFrame(() => { window.painted = performance.now(); }));
}).observe(document, { subtree: true, childList: true });"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=30_000)
    options = parser.parse_args()
    if CHROMIUM is None:
        raise SystemExit("Chromium is not on the PATH: apt install chromium")
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        prepare_site(Path(scratch))
        rows, cookie = record_two(options.tokens), session()
        origin = stack.enter_context(server())
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(base_url=origin)
        context.add_init_script(WATCH)
        context.add_cookies([{"name": cookie["name"], "value": cookie["value"], "url": origin}])
        addresses = {name: f"/runs/{row.run_id}/trajectories/{row.pk}/#by=entropy" for name, row in rows.items()}
        milliseconds = {name: opening(context.new_page(), address) for name, address in addresses.items()}
        browser.close()
    result = {"tokens": options.tokens, **milliseconds}
    sys.stdout.write(json.dumps({"benchmark": "reader_opening", **result}) + "\n")
    return 0


def opening(page: Page, address: str) -> dict[str, int]:
    found = []
    for _ in range(REPEATS + 1):
        page.goto("about:blank")
        page.goto(address, wait_until="commit")
        found.append(page.wait_for_function("() => window.painted").json_value())
    return {"median_ms": round(statistics.median(found[1:])), "worst_ms": round(max(found[1:]))}


def record_two(tokens: int) -> dict[str, Any]:
    """Two recorded trajectories: of 40 turns, and of one."""
    from engine.events import TrajectoriesRecorded
    from engine.rollout.trajectory_files import write_trajectory_file
    from webapp.runs.models import Run
    from workers.bridge import save_trajectories
    from workers.rows import Rows

    run = Run.objects.create(name="bench", config={}, total_steps=1)
    write_trajectory_file(
        run.directory / FILE, [trajectory(member, turns, tokens) for member, turns in enumerate((40, 1))]
    )
    rows = Rows(run)
    rows.add(TrajectoriesRecorded(seq=1, time=0.0, attempt=1, epoch=0, step=1, split="train", path=FILE, count=2))
    save_trajectories(rows)
    many, one = run.trajectories.order_by("member")
    return {"turns_40": many, "turns_1": one}


def trajectory(member: int, turns: int, count: int) -> dict[str, Any]:
    """Half of each turn is prompt, half sampled; the board moves one step per turn."""
    stream = random.Random(member)
    words = [f" {''.join(stream.choices('abcdefghij', k=stream.randint(1, 9)))}" for _ in range(count)]
    each = count // turns
    sampled = [int(index % each >= each // 2) for index in range(count)]
    values = [round(stream.random(), 5) for _ in range(count)]
    tokens = {
        "ids": [stream.randrange(150_000) for _ in range(count)], "text": words, "sampled": sampled, "masked": [],
        "logprobs": [-value for value in values], "entropies": values, "advantages": values,
    }  # fmt: skip
    return {
        "id": f"train-1-0-{member}", "step": 1, "split": "train", "environment": "Lake", "kind": "frozen_lake",
        "group": 0, "member": member, "seed": 7, "success": True, "return": 1.0, "penalty": 0.0, "score": 1.0,
        "advantage": 0.5, "kept": True, "group_std": 0.5, "stop": "success", "fault": "", "optimal_length": 4,
        "tokens": tokens, "initial": {"observation": "start", "drawing": board(0)},
        "turns": [turn(index, each, words) for index in range(turns)],
    }  # fmt: skip


def turn(index: int, each: int, words: list[str]) -> dict[str, Any]:
    start, middle, end = index * each, index * each + each // 2, (index + 1) * each
    response = "".join(words[middle:end])
    frame = {"action": "Right", "reward": 0.0, "effective": True, "drawing": board(index + 1), "observation": "on"}
    return {
        "index": index, "prompt": "".join(words[start:middle]), "messages": [], "surplus": 0,
        "response": response, "context_start": 0,
        "prompt_start": start, "response_start": middle, "response_end": end, "thought": response, "parse": "ok",
        "parsed": ["Right"], "executed": ["Right"], "reward": 0.0, "penalty": 0.0, "return_to_go": 1.0,
        "advantage": 0.5, "entropy": 0.5, "logprob": -0.5, "frames": [frame], "info": {},
    }  # fmt: skip


def board(index: int) -> dict[str, Any]:
    cells = [["floor"] * 8 for _ in range(8)]
    return {"type": "grid", "rows": 8, "columns": 8, "cells": cells, "agent": [index // 8 % 8, index % 8],
            "agent_state": "ok"}  # fmt: skip


def session() -> dict[str, str]:
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.test import Client

    client = Client(headers={"host": "localhost:8000"})
    client.force_login(User.objects.create_user("bench"))
    return {"name": settings.SESSION_COOKIE_NAME, "value": str(client.session.session_key)}


@contextlib.contextmanager
def server(application: Any = None) -> Iterator[str]:
    """The site, or another application that has its routes."""
    import uvicorn
    from django.conf import settings

    from webapp.asgi import application as site_application
    from webapp.security.authorities import trusted_hosts, trusted_origins

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        settings.TRUSTED_ORIGINS = trusted_origins(port, [])
        settings.TRUSTED_HOSTS = trusted_hosts(port, [], settings.TRUSTED_ORIGINS)
        site = uvicorn.Server(uvicorn.Config(application or site_application, log_level="warning", lifespan="off"))
        threading.Thread(target=site.run, kwargs={"sockets": [listener]}, daemon=True).start()
        while not site.started:
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}"
        site.should_exit = site.force_exit = True


if __name__ == "__main__":
    sys.exit(main())
