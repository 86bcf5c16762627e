"""Hostile text in a real Chromium: no page runs it, sends it anywhere, violates the content policy, or shows a hidden
character without its name.

And a page of another program on this machine, which has our cookie since cookies ignore ports, is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from django.conf import settings as site_settings
from django.templatetags.static import static
from django.test import Client
from playwright.sync_api import BrowserContext, Page, expect
from pytest_django import Settings

from tests.e2e.chromium import CHROMIUM, shared_browser
from tests.e2e.threads import in_thread
from tests.hostile import STORABLE
from tests.webapp.security.live_site import live_site
from tests.webapp.security.roles import HTTP
from tests.webapp.security.routes import address
from tests.webapp.world import World, make_world
from webapp.runs.models import Run
from webapp.runs.states import RunState
from webapp.visible_text import visible

ATTACKS = "\n".join(text for text in STORABLE if len(text) < 2_000)
SHOWN = {route: row for route, row in HTTP.items() if not route.startswith("api/") and not route.endswith(".jsonl")}
PAGES = [route for route, row in SHOWN.items() if row.get == 200]
NAME = '"><img src=x onerror=alert("h00")>\u202egpj.'
WATCH = """
window.violations = [];
document.addEventListener('securitypolicyviolation', e =>
  window.violations.push(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile || ''}:${e.lineNumber} ${e.sample}`));
"""

TEXTS = """() => {
  const shown = new Set([document.title]);
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let one = texts.nextNode(); one; one = texts.nextNode()) {
    if (!one.parentElement.closest('script, style, textarea, noscript')) shown.add(one.data);
  }
  for (const name of ['title', 'aria-label', 'placeholder', 'alt']) {
    for (const one of document.querySelectorAll(`[${name}]`)) shown.add(one.getAttribute(name));
  }
  return [...shown];
}"""

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt install chromium"),
]


FILES = ("/download/", ".parquet", "/export/?$")  # saved, never shown


@pytest.fixture
def hostile_world(transactional_db: None, settings: Settings, tmp_path: Path) -> World:
    settings.RUNS_DIR = str(tmp_path / "runs")
    return make_world(name=NAME, text=ATTACKS, texts=[ATTACKS])


@pytest.fixture
def origin(hostile_world: World, settings: Settings) -> Iterator[str]:
    with live_site(settings) as opened:
        yield opened


@pytest.fixture
def signed_in(origin: str, hostile_world: World) -> Iterator[BrowserContext]:
    client = Client()
    client.force_login(hostile_world.user)
    cookie = {"name": site_settings.SESSION_COOKIE_NAME, "value": str(client.session.session_key), "url": origin}
    with shared_browser() as browser:
        context = browser.new_context()
        context.add_init_script(WATCH)
        context.add_cookies([{**cookie, "sameSite": "Lax"}])  # type: ignore[list-item]
        yield context
        context.close()


class Recorder:
    """What a page did that it should not have done."""

    def __init__(self, page: Page, origin: str) -> None:
        self.page = page
        self.problems: list[str] = []
        page.on("dialog", lambda dialog: (self.problems.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("pageerror", lambda error: self.problems.append(f"error {error}"))
        page.on("request", lambda request: self._note(request.url, origin))

    def _note(self, url: str, origin: str) -> None:
        if not url.startswith((f"{origin}/", "data:", "blob:")):
            self.problems.append(f"request to {url[:100]}")

    def visit(self, path: str) -> None:
        answer = self.page.goto(path, wait_until="load")
        assert answer is not None
        assert answer.status == 200, path

    def found(self) -> list[str]:
        violations = (f"policy {one}" for one in self.page.evaluate("window.violations"))
        return [*self.problems, *violations, *(f"hidden characters in {text!r}" for text in hidden(self.page))]


def hidden(page: Page) -> list[str]:
    """The texts of a page, its title and its labels that have a character which nobody can see."""
    return [text[:200] for text in page.evaluate(TEXTS) if text != visible(text)]


def test_no_page_runs_or_sends_hostile_text_or_shows_its_hidden_characters(
    signed_in: BrowserContext, origin: str, hostile_world: World
) -> None:
    shown = [route for route in PAGES if not route.endswith(FILES)]
    paths = [address(route, hostile_world) for route in shown]
    paths.append(f"/compare/?runs={hostile_world.run.pk}")
    problems: dict[str, list[str]] = {}
    for some in batched(paths, 8):
        recorders = {path: Recorder(signed_in.new_page(), origin) for path in some}
        for path, recorder in recorders.items():
            recorder.visit(origin + path)
        signed_in.pages[-1].wait_for_timeout(700)  # for what scripts draw
        problems |= {path: found for path, recorder in recorders.items() if (found := recorder.found())}
        for recorder in recorders.values():
            recorder.page.close()
    assert problems == {}


def batched(paths: list[str], size: int) -> list[list[str]]:
    return [paths[start : start + size] for start in range(0, len(paths), size)]


def wait_for(run: Run) -> None:
    """A queued run of the same name, while `run` has the engine slot."""
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING)
    queued = Run.objects.get(pk=run.pk)
    queued.pk, queued.state = "waiting", RunState.QUEUED
    queued.save(force_insert=True)


def test_the_palette_and_the_wait_message_name_hidden_characters(
    signed_in: BrowserContext, origin: str, hostile_world: World
) -> None:
    run = hostile_world.run
    in_thread(lambda: wait_for(run))
    page = signed_in.new_page()
    page.goto(f"{origin}/runs/waiting/")
    expect(page.locator(".run-verdict")).to_contain_text("Waits for")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("option").filter(has_text="h00")).to_have_count(2)
    assert hidden(page) == []
    assert "[RLO]gpj." in page.title()


def test_the_recorder_detects_scripts_and_requests(signed_in: BrowserContext, origin: str) -> None:
    page = signed_in.new_page()
    recorder = Recorder(page, origin)
    page.goto(f"{origin}/leaderboard/")
    page.evaluate("document.body.innerHTML = `<img src=x onerror=alert(1)><img src='http://127.0.0.1:9/leak'>`")
    page.wait_for_timeout(300)
    page.evaluate("document.title = 'a\\u202eb'")
    assert hidden(page) == ["a\u202eb"]
    assert any("script-src" in one for one in page.evaluate("window.violations"))
    assert any("img-src" in one for one in page.evaluate("window.violations"))
    assert not any("dialog" in one for one in recorder.problems)


FOREIGN_PAGE = """<!doctype html><title>another program</title><script>
async function attempt() {
  const got = {};
  const answer = await fetch('%(origin)s/api/v1/runs/', {credentials: 'include'}).catch(e => 'blocked');
  got.read = answer === 'blocked' ? answer : await answer.text();
  const body = new URLSearchParams({action: 'archive'});
  const sent = {method: 'POST', mode: 'no-cors', credentials: 'include', body};
  await fetch('%(origin)s/api/v1/runs/%(run)s/control', sent).catch(e => e);
  got.socket = await new Promise(done => {
    const socket = new WebSocket('%(origin)s/ws/runs/'.replace('http', 'ws'));
    socket.onopen = () => done('open');
    socket.onerror = () => done('blocked');
  });
  got.image = await new Promise(done => {
    const image = new Image();
    image.onload = () => done('loaded');
    image.onerror = () => done('blocked');
    image.src = '%(image)s';
  });
  return got;
}
</script>"""


def test_a_page_on_another_port_of_this_machine_is_refused(
    signed_in: BrowserContext, origin: str, hostile_world: World
) -> None:
    html = (
        FOREIGN_PAGE % {"origin": origin, "run": hostile_world.run.pk, "image": origin + static("img/favicon.svg")}
    ).encode()

    class Foreign(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(html)

        def log_message(self, *words: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Foreign)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = signed_in.new_page()
    page.goto(f"http://127.0.0.1:{server.server_port}/")
    assert page.evaluate("attempt()") == {"read": "blocked", "socket": "blocked", "image": "blocked"}
    run = signed_in.request.get(f"{origin}/api/v1/runs/{hostile_world.run.pk}/").json()
    assert run["archived_at"] is None
    server.shutdown()
