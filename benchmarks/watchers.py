"""How long an event takes from the engine's file to each of many pages that watch the run, while they read everything.

All of it is real and on this machine: site, worker and Redis in processes of their own, and 200 WebSockets on
loopback, as many pages would hold them. For each event and each watcher: the clock when the message had come and was
read as JSON, minus the time that the engine wrote into the event. The watchers share the machine with the server and
the engine, so the numbers are an upper bound for what watchers elsewhere see.

The run is the starter run of `make run`, at its own pace, or with `--rate` one that trains nothing and writes as many
events a second: phases, trajectories and steps. `--silent` adds watchers that never read. `lost` watchers were dropped,
for want of a pong or for another reason; one that falls behind reads on. The site's memory is that of its process:
resident, once all watchers are there, at most, at the end, and how it grows per hour after the first fifth.
`site_cores` is the processor time that the site takes per second, of which one core is all there is for a process.

    python -m benchmarks.watchers [--watchers N] [--silent N] [--rate EVENTS] [--seconds N] [--postgres]
"""

from __future__ import annotations

import argparse
import asyncio
import http.cookiejar
import json
import math
import os
import shutil
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin

from benchmarks.databases import add_option, database
from engine.config import RunConfig
from tests.launch.deployment import Deployment
from tests.launch.installation import Installation, free_port

OPENING_AT_ONCE = 20
IN_TRANSIT = 3.0  # seconds that the last events have to arrive
EVENTS_PER_STEP = 4
START_SECONDS = 180.0


@dataclass(frozen=True, slots=True)
class Watched:
    """A run that is moving, and what is needed to watch it."""

    host: str
    run: str
    cookie: str
    site: int  # process ID


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--watchers", type=int, default=200)
    parser.add_argument("--silent", type=int, default=0, help="watchers that never read, beside them")
    parser.add_argument("--rate", type=float, help="events per second (default: those of the starter run)")
    parser.add_argument("--seconds", type=float, default=60.0, help="to watch once all are there")
    add_option(parser)
    options = parser.parse_args()
    if options.postgres and not options.rate:
        raise SystemExit("--postgres needs --rate: the starter run is that of `make run`, which has SQLite.")
    scratch = Path(tempfile.mkdtemp())
    try:
        with database(options.postgres), paced(scratch, options.rate) if options.rate else starter(scratch) as watched:
            audience = Audience(watched)
            asyncio.run(audience.watch(options.watchers, options.silent, options.seconds))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    named = "postgresql" if options.postgres else "sqlite"
    given = {"database": named, "watchers": options.watchers, "silent": options.silent, "rate": options.rate}
    given |= {"seconds": options.seconds}
    sys.stdout.write(json.dumps({"benchmark": "watchers", **given, **audience.result()}) + "\n")
    return 0


@contextmanager
def starter(scratch: Path) -> Iterator[Watched]:
    with Installation(scratch / "site", threads=None) as site:
        browser = signed_in(site.link())
        run = moving_run(browser, site.port)
        yield Watched(f"127.0.0.1:{site.port}", run, cookie_of(browser), site.children()["web"])


@contextmanager
def paced(scratch: Path, rate: float) -> Iterator[Watched]:
    """Its engine is the stand-in of the tests, which writes four events a step."""
    port = free_port()
    with Deployment(scratch, os.environ.get("DATABASE_URL", "")) as one:
        one.start_redis()
        one.prepare()
        site = one.start_site(port)
        cookie = one.cookie()
        one.start_worker(DJANGO_SETTINGS_MODULE="benchmarks.paced_settings")
        pace = f"step_seconds={EVENTS_PER_STEP / rate}"
        run = one.submit(RunConfig.model_validate({"steps": 1_000_000, "description": pace}), "paced")
        yield Watched(f"127.0.0.1:{port}", run, cookie, site.pid)


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
    """Watchers of one run, and the lag of each event at each of them, in seconds."""

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        self.lags: dict[int, list[float]] = {}  # by event
        self.memory: list[float] = []  # of the site, in MiB
        self.began, self.ended = 0.0, math.inf  # events written between these count
        self.lost = 0
        self.cores = 0.0
        self.gate = asyncio.Semaphore(OPENING_AT_ONCE)

    async def watch(self, watchers: int, silent: int, seconds: float) -> None:
        held = [await self._open() for _ in range(silent)]
        tasks = await asyncio.gather(*(self._reader() for _ in range(watchers)))
        self.began, used = time.time(), processor_seconds(self.watched.site)
        while time.time() < self.began + seconds:
            self.memory.append(resident(self.watched.site))
            await asyncio.sleep(1)
        self.ended = time.time()
        self.cores = (processor_seconds(self.watched.site) - used) / (self.ended - self.began)
        await asyncio.sleep(IN_TRANSIT)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for socket in held:
            socket.transport.abort()

    async def _open(self) -> ClientConnection:
        """One that has received its greeting; a silent one stops reading there, as its queue is full."""
        address = f"ws://{self.watched.host}/ws/runs/{self.watched.run}/?after={2**53}"
        headers = {"Cookie": self.watched.cookie}
        origin = Origin(f"http://{self.watched.host}")
        async with self.gate:
            socket = await connect(
                address, origin=origin, additional_headers=headers, open_timeout=60, max_size=2**24, max_queue=4
            )
            await socket.recv()
        return socket

    async def _reader(self) -> asyncio.Task[None]:
        """It reads from now on: a socket that waits for the others unread would answer no ping."""
        return asyncio.create_task(self._read(await self._open()))

    async def _read(self, socket: ClientConnection) -> None:
        try:
            async for message in socket:
                self._note(json.loads(message))
        except ConnectionClosed:
            self.lost += 1
        finally:
            await socket.close()

    def _note(self, message: dict[str, Any]) -> None:
        now = time.time()
        for event in message.get("events", ()):
            if self.began and self.began < event["time"] < self.ended:
                self.lags.setdefault(event["seq"], []).append(now - event["time"])

    def result(self) -> dict[str, Any]:
        lags = sorted(lag for event in self.lags.values() for lag in event)
        if not lags:
            return {"events": 0, "lost": self.lost}
        quantiles = {"p50_ms": pick(lags, 0.5), "p95_ms": pick(lags, 0.95), "max_ms": pick(lags, 1.0)}
        memory = {"at_first": self.memory[0], "at_most": max(self.memory), "at_last": self.memory[-1]}
        memory["per_hour"] = round(3600 * slope(self.memory[len(self.memory) // 5 :]))
        missed = sum(max(map(len, self.lags.values())) - len(event) for event in self.lags.values())
        counts = {"events": len(self.lags), "received": len(lags), "missed": missed, "lost": self.lost}
        return {**counts, **quantiles, "site_cores": round(self.cores, 2), "site_mib": memory}


def resident(process: int) -> float:
    """MiB."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGESIZE") / 2**20, 2)


def processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # in user mode and in the kernel


def slope(values: list[float]) -> float:
    """The least-squares growth from one value to the next."""
    return float(np.polyfit(range(len(values)), values, 1)[0]) if len(values) > 1 else 0.0


def pick(ordered: list[float], share: float) -> int:
    """Milliseconds."""
    return round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))])


if __name__ == "__main__":
    sys.exit(main())
