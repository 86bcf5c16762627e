"""Where Chromium is, and how it is started: headless and without network requests."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import shutil
from collections.abc import Iterator
from typing import NamedTuple

from playwright.sync_api import Browser, Playwright, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# the same engine without the windows and toolbars of a browser, which are drawn even if nobody sees them
HEADLESS = shutil.which("chromium-headless-shell") or CHROMIUM
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@contextlib.contextmanager
def shared_browser() -> Iterator[Browser]:
    """This process's one Chromium, since starting it takes longer than most pages. Contexts end with the block.

    Playwright's loop counts as running in this thread only within the block, so that other code may have loops too.
    """
    before = asyncio._get_running_loop()
    asyncio._set_running_loop(_driver().loop)
    try:
        browser = _browser()
        yield browser
        for context in browser.contexts:
            context.close()
    finally:
        asyncio._set_running_loop(before)


class Driver(NamedTuple):
    playwright: Playwright
    loop: asyncio.AbstractEventLoop


@functools.cache
def _driver() -> Driver:
    playwright = sync_playwright().start()
    return Driver(playwright, asyncio.get_running_loop())


@functools.cache
def _browser() -> Browser:
    return _driver().playwright.chromium.launch(executable_path=HEADLESS, args=FLAGS)


def end_shared_browser() -> None:
    if _driver.cache_info().currsize:
        driver = _driver()
        asyncio._set_running_loop(driver.loop)
        driver.playwright.stop()
        asyncio._set_running_loop(None)
