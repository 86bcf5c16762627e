"""How long a training step takes from the engine's file to each of many pages that watch the run, while it trains.

Everything is real and on this machine: `make run`'s own processes in a new data directory, the starter run that they
queue, and 200 WebSockets on loopback, as many pages would hold them. For each step and each watcher: the clock when the
message had come and was read as JSON, minus the time that the engine wrote into the event. The watchers share the
machine with the server and the engine, so the numbers are an upper bound for what watchers elsewhere see.

    python -m benchmarks.watchers [--watchers N] [--steps N] [--seconds N]
"""

from __future__ import annotations

import argparse
import asyncio
import http.cookiejar
import json
import shutil
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin

from tests.launch.installation import Installation

OPENING_AT_ONCE = 20
START_SECONDS = 180.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--watchers", type=int, default=200)
    parser.add_argument("--steps", type=int, default=30, help="training steps to watch")
    parser.add_argument("--seconds", type=float, default=180.0, help="at most this long")
    options = parser.parse_args()
    scratch = Path(tempfile.mkdtemp())
    try:
        with Installation(scratch / "site", threads=None) as site:
            browser = signed_in(site.link())
            run = moving_run(browser, site.port)
            audience = Audience(f"127.0.0.1:{site.port}", run, cookie_of(browser))
            asyncio.run(audience.watch(options.watchers, options.steps, options.seconds))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    sys.stdout.write(json.dumps({"benchmark": "watchers", "watchers": options.watchers, **audience.result()}) + "\n")
    return 0


def signed_in(link: str) -> tuple[urllib.request.OpenerDirector, http.cookiejar.CookieJar]:
    jar = http.cookiejar.CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    opener.open(link, timeout=30).read()
    return opener, jar


def cookie_of(browser: tuple[urllib.request.OpenerDirector, http.cookiejar.CookieJar]) -> str:
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in browser[1])


def moving_run(browser: tuple[urllib.request.OpenerDirector, http.cookiejar.CookieJar], port: int) -> str:
    """The id of the starter run, once it has taken three steps."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with browser[0].open(f"http://127.0.0.1:{port}/api/v1/runs/", timeout=30) as answer:
            runs = json.load(answer)["runs"]
        if moving := [run["id"] for run in runs if run["step"] >= 3]:
            return str(moving[0])
        time.sleep(1)
    raise SystemExit(f"No run took three steps within {START_SECONDS:.0f} s; see its log.")


class Audience:
    """Watchers of one run, and the lag of each step at each of them, in seconds."""

    def __init__(self, host: str, run: str, cookie: str) -> None:
        self.host, self.run, self.cookie = host, run, cookie
        self.lags: dict[int, list[float]] = {}
        self.began = 0.0
        self.lost = 0
        self.gate = asyncio.Semaphore(OPENING_AT_ONCE)
        self.everybody = asyncio.Event()
        self.there = 0

    async def watch(self, watchers: int, steps: int, seconds: float) -> None:
        tasks = [asyncio.create_task(self._one(watchers)) for _ in range(watchers)]
        try:
            async with asyncio.timeout(seconds):
                await self.everybody.wait()
                while len(self.lags) <= steps:
                    await asyncio.sleep(0.2)
        except TimeoutError:
            pass  # what was measured until then counts
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _one(self, watchers: int) -> None:
        headers = {"Cookie": self.cookie}
        address = f"ws://{self.host}/ws/runs/{self.run}/?after={2**53}"
        async with self.gate:
            origin = Origin(f"http://{self.host}")
            socket = await connect(address, origin=origin, additional_headers=headers, open_timeout=60, max_size=2**24)
            await socket.recv()
        self.there += 1
        if self.there == watchers:
            self.began = time.time()
            self.everybody.set()
        try:
            async for message in socket:
                self._note(json.loads(message))
        except ConnectionClosed:
            self.lost += 1
        finally:
            await socket.close()

    def _note(self, message: dict[str, Any]) -> None:
        """Steps that were taken after all watchers had connected."""
        now = time.time()
        for event in message.get("events", ()):
            if event["kind"] == "step_completed" and self.began and event["time"] > self.began:
                self.lags.setdefault(event["step"], []).append(now - event["time"])

    def result(self) -> dict[str, Any]:
        whole = dict(sorted(self.lags.items())[:-1])  # the newest may still be in transit
        lags = sorted(lag for step in whole.values() for lag in step)
        if not lags:
            return {"steps": 0, "there": self.there, "lost": self.lost}
        quantiles = {"p50_ms": pick(lags, 0.5), "p95_ms": pick(lags, 0.95), "max_ms": pick(lags, 1.0)}
        return {"steps": len(whole), "messages": len(lags), "there": self.there, "lost": self.lost, **quantiles}


def pick(ordered: list[float], share: float) -> int:
    """Milliseconds."""
    return round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))])


if __name__ == "__main__":
    sys.exit(main())
