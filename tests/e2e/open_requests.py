"""Waits until a page has asked for all it needs.

Playwright's own `networkidle` now and then never comes, although no request is open.
"""

from __future__ import annotations

import time

from playwright.sync_api import Page, Request

QUIET = 0.1  # seconds without an open request
POLL = 25  # ms


class OpenRequests:
    """Of one page: requests that have neither an answer nor failed."""

    def __init__(self, page: Page, patience: int = 30_000) -> None:
        """`patience` in milliseconds."""
        self.page, self.patience = page, patience / 1000
        self.requests: list[Request] = []
        page.on("request", self._started)
        page.on("requestfinished", self._ended)
        page.on("requestfailed", self._ended)

    def load(self, address: str) -> None:
        """Loads a page from the start, also one that differs in its fragment alone."""
        self.page.goto("about:blank")
        self.requests.clear()
        self.page.goto(address)

    def wait_for_none(self) -> None:
        """Raises an `AssertionError` that names what is still open after `patience`."""
        start = quiet_since = time.monotonic()
        while (now := time.monotonic()) - quiet_since < QUIET:
            self.page.wait_for_timeout(POLL)  # lets events arrive
            if self.requests:
                quiet_since = time.monotonic()
            assert now - start < self.patience, f"{self.page.url} waits for {[open_.url for open_ in self.requests]}"

    def _started(self, request: Request) -> None:
        self.requests.append(request)

    def _ended(self, request: Request) -> None:
        if request in self.requests:
            self.requests.remove(request)
