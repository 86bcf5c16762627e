"""Takes the screenshots of the docs from a real installation: `python -m tests.screenshots [--to DIR]`.

Starts Starboard in a temporary directory, trains its starter run and a collapse to completion, and takes each picture
of `SHOTS` in Chromium. Two idle cores take about eight minutes.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from tests.e2e.chromium import CHROMIUM, FLAGS
from tests.launch.installation import REPOSITORY, Installation

TRAINED = 30 * 60 * 1000  # ms a run may take
SETTLED = 1500  # ms for charts to be drawn


@dataclass(frozen=True, slots=True)
class Runs:
    """Paths of the pages of the two runs."""

    starter: str
    collapse: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    name: str
    path: Callable[[Runs], str]
    theme: Literal["light", "dark"] = "light"
    width: int = 1440
    height: int = 900
    click: str = ""  # the link to the page to photograph


SHOTS = (
    Shot(name="run", path=lambda runs: runs.starter),
    Shot(name="run-dark", path=lambda runs: runs.starter, theme="dark"),
    Shot(name="run-phone", path=lambda runs: runs.starter, width=390, height=844),
    Shot(name="collapse", path=lambda runs: f"{runs.collapse}#collapse"),
    Shot(name="filter", path=lambda runs: f"{runs.starter}#filter"),
    Shot(name="alerts", path=lambda runs: f"{runs.collapse}#alerts"),
    Shot(name="trajectories", path=lambda runs: f"{runs.starter}trajectories/"),
    Shot(
        name="reader",
        path=lambda runs: f"{runs.starter}trajectories/?split=train&success=yes&sort=-turns",
        click="table a[href*='/trajectories/']",
    ),
    Shot(name="new-run", path=lambda _: "/runs/new/"),
    Shot(name="leaderboard", path=lambda _: "/leaderboard/"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=REPOSITORY / "docs" / "screenshots", help="where pictures go")
    parser.add_argument("--only", nargs="*", default=[], help="names of pictures")
    options = parser.parse_args()
    if CHROMIUM is None:
        raise SystemExit("Chromium is not on the PATH: apt install chromium")
    options.to.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as scratch,
        sync_playwright() as playwright,
        Installation(Path(scratch) / "site", threads=None) as site,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        page.goto(site.link())
        runs = train(page)
        for shot in SHOTS:
            if not options.only or shot.name in options.only:
                take(browser, page, shot, runs, options.to)
        browser.close()
    return 0


def train(page: Page) -> Runs:
    """The starter run, which the first start queues, and a collapse, both finished."""
    starter = first_run(page)
    wait_for_the_end(page, starter)
    page.goto(on(page, "/runs/"))
    page.evaluate(
        """async () => {
          const token = document.querySelector('input[name=csrfmiddlewaretoken]').value;
          await fetch('/runs/quick-start/', {
            method: 'POST', body: new URLSearchParams({preset: 'collapse', csrfmiddlewaretoken: token}) });
        }"""
    )
    page.reload()
    collapse = first_run(page)
    wait_for_the_end(page, collapse)
    return Runs(starter=starter, collapse=collapse)


def first_run(page: Page) -> str:
    link = page.locator("table a[href^='/runs/']").first
    link.wait_for()
    return link.get_attribute("href") or ""


def wait_for_the_end(page: Page, path: str) -> None:
    page.goto(on(page, path))
    page.wait_for_selector("#state-chip .chip--finished, #state-chip .chip--stopped", timeout=TRAINED)


def take(browser: Browser, signed_in: Page, shot: Shot, runs: Runs, folder: Path) -> None:
    context = browser.new_context(
        viewport={"width": shot.width, "height": shot.height},
        color_scheme=shot.theme,
        storage_state=signed_in.context.storage_state(),
    )
    page = context.new_page()
    page.goto(on(signed_in, shot.path(runs)))
    if shot.click:
        page.locator(shot.click).first.click()
    page.wait_for_timeout(SETTLED)
    path = folder / f"{shot.name}.png"
    path.write_bytes(small(page.screenshot()))
    context.close()
    sys.stdout.write(f"{path}\n")


def small(picture: bytes) -> bytes:
    """The same with 256 colours, a third of the size."""
    packed = io.BytesIO()
    Image.open(io.BytesIO(picture)).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
        packed, "PNG", optimize=True
    )
    return packed.getvalue()


def on(page: Page, path: str) -> str:
    """The path as a URL of the site that the page is on."""
    origin: str = page.evaluate("location.origin")
    return origin + path


if __name__ == "__main__":
    sys.exit(main())
