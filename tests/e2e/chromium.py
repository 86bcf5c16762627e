"""Where Chromium is, and how it is started: headless and without network requests."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import shutil
from collections.abc import Iterator
from typing import NamedTuple

from playwright.sync_api import Browser, BrowserContext, Playwright, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# the same engine without the windows and toolbars of a browser, which are drawn even if nobody sees them
HEADLESS = shutil.which("chromium-headless-shell") or CHROMIUM
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--process-per-site",
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
            if context is not _shared.get(browser):
                context.close()
    finally:
        asyncio._set_running_loop(before)


_shared: dict[Browser, BrowserContext] = {}


@contextlib.contextmanager
def shared_context(browser: Browser, origin: str) -> Iterator[BrowserContext]:
    """One context for all tests, so that scripts are loaded and compiled once. What a test has stored in it is removed;
    a fake clock is not."""
    if browser not in _shared:
        _shared[browser] = new_context(browser, origin)
        _shared[browser].new_page().goto("/healthz")
    context = _shared[browser]
    try:
        yield context
    finally:
        keeper, *others = context.pages
        for page in others:
            page.close()
        line = context.new_cdp_session(keeper)
        line.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "cookies,local_storage,indexeddb"})
        line.detach()
        context.clear_cookies()
        context.clear_permissions()


@contextlib.contextmanager
def own_context(browser: Browser, origin: str) -> Iterator[BrowserContext]:
    """Of one test alone."""
    context = new_context(browser, origin)
    try:
        yield context
    finally:
        context.close()


def new_context(browser: Browser, origin: str) -> BrowserContext:
    """In which nothing moves: motion costs a processor what tests need."""
    return browser.new_context(base_url=origin, reduced_motion="reduce")


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
