"""Takes a picture of each type of drawing from the style guide: `python -m tests.screenshots.drawings [--to DIR]`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.e2e.chromium import CHROMIUM, FLAGS
from tests.launch.installation import REPOSITORY, Installation
from tests.screenshots.__main__ import SETTLED, on, small

WIDTH, HEIGHT = 1280, 900
WHOLE = """() => document.querySelectorAll("[data-board], [data-board] *").forEach((part) => {
  if (part instanceof HTMLElement) { part.style.maxHeight = "none"; part.style.overflow = "visible"; }
})"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=REPOSITORY / "docs" / "environments", help="where pictures go")
    options = parser.parse_args()
    if CHROMIUM is None:
        raise SystemExit("Chromium is not on the PATH: apt install chromium")
    options.to.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as scratch,
        sync_playwright() as playwright,
        Installation(Path(scratch) / "site") as site,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=1.5)
        page = context.new_page()
        page.goto(site.link())
        take(page, options.to)
        browser.close()
    return 0


def take(page: Page, folder: Path) -> None:
    """Of two drawings of one type, the second is `table-2` and so on."""
    page.goto(on(page, "/styleguide/"))
    page.wait_for_timeout(SETTLED)
    page.evaluate(WHOLE)
    taken: list[str] = []
    boards = {board.get_attribute("data-board"): board for board in reversed(page.locator("[data-board]").all())}
    for name, board in sorted(boards.items()):  # the first of each is light, the other dark
        kind = json.loads(page.locator(f"script#{name}").text_content() or "")["type"]
        taken.append(kind)
        number = taken.count(kind)
        path = folder / f"{kind}{f'-{number}' if number > 1 else ''}.png"
        path.write_bytes(small(board.screenshot()))
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    sys.exit(main())
