"""A real Chromium signs in through a provider on another origin, under our Content-Security-Policy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect
from pytest_django import Settings

from tests.e2e.chromium import CHROMIUM, shared_browser
from tests.webapp.identity_providers.openid_server import OpenIdServer
from tests.webapp.security.live_site import live_site

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt install chromium"),
]


@pytest.fixture
def origin(transactional_db: None, settings: Settings) -> Iterator[str]:
    with live_site(settings) as opened:
        yield opened


def test_the_button_leads_to_the_provider_and_back_to_the_page_that_was_asked_for(
    origin: str, provider: OpenIdServer
) -> None:
    with shared_browser() as browser:
        context = browser.new_context()
        page = context.new_page()
        problems: list[str] = []
        page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
        page.goto(f"{origin}/queue/")
        page.get_by_role("button", name="Sign in with Example SSO").click()
        page.wait_for_url(f"{origin}/queue/")
        expect(page.get_by_role("heading", name="Queue", exact=True)).to_be_visible()
        page.goto(f"{origin}/account/")
        expect(page.get_by_text("Example SSO, grace@example.org")).to_be_visible()
        context.close()
    assert "/authorize" in provider.requested
    assert problems == []


def test_an_account_is_connected_with_its_password(origin: str, provider: OpenIdServer) -> None:
    User.objects.create_user("ada", password="correct horse 7 battery")
    with shared_browser() as browser:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{origin}/account/")
        page.get_by_label("Username").fill("ada")
        page.get_by_label("Password").fill("correct horse 7 battery")
        page.get_by_role("button", name="Sign in", exact=True).click()
        page.get_by_role("heading", name="Ways to sign in").wait_for()
        page.locator("#id_confirm_password").fill("correct horse 7 battery")
        page.get_by_role("button", name="Connect Example SSO").click()
        expect(page.get_by_text("Example SSO, grace@example.org")).to_be_visible()
        context.close()


def grave(page: Page) -> list[str]:
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [one["id"] for one in found if one["impact"] in ("serious", "critical")]


def test_the_pages_on_the_way_are_accessible(origin: str, provider: OpenIdServer) -> None:
    with shared_browser() as browser:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{origin}/accounts/login/")
        problems = grave(page)
        provider.claims["email_verified"] = False
        page.get_by_role("button", name="Sign in with Example SSO").click()
        expect(page.get_by_role("heading", name="You were not signed in through Example SSO")).to_be_visible()
        problems += grave(page)
        provider.claims["email_verified"] = True
        page.get_by_role("link", name="Back to the sign-in page").click()
        page.get_by_role("button", name="Sign in with Example SSO").click()
        page.wait_for_url(f"{origin}/runs/")
        page.goto(f"{origin}/account/")
        expect(page.get_by_role("heading", name="Ways to sign in")).to_be_visible()
        problems += grave(page)
        context.close()
    assert problems == []
