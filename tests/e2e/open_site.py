"""A signed-in page of a real Chromium on the site, which runs in a thread on the test's database."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from django.conf import settings as site_settings
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django import Settings

from tests.e2e.chromium import CHROMIUM, own_context, shared_browser, shared_context
from tests.webapp.members.people import a_member
from tests.webapp.security.live_site import live_site
from webapp.projects.models import Role

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt install chromium")


@contextlib.contextmanager
def open_site(settings: Settings, *, width: int = 1440, patience: int = 30_000, own: bool = False) -> Iterator[Page]:
    """A blank page; `goto` takes paths. An error in a script fails the test when the site closes.

    `patience` is the timeout of every action in milliseconds. A test that changes the clock needs its `own` context.
    """
    client = Client()
    client.force_login(a_member("ada", Role.ADMIN))
    session = str(client.session.session_key)
    errors: list[str] = []
    context_of = own_context if own else shared_context
    with live_site(settings) as origin, shared_browser() as browser, context_of(browser, origin) as context:
        context.add_cookies([{"name": site_settings.SESSION_COOKIE_NAME, "value": session, "url": origin}])
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 900})
        page.set_default_timeout(patience)
        expect.set_options(timeout=patience)
        page.on("pageerror", lambda error: errors.append(f"{page.url}: {error.stack or error}"))
        yield page
    assert not errors, errors
