"""How long a training step takes from the engine's file to changed pixels in Chromium, while the engine trains.

Everything is real and on this machine: `make run`'s own processes in a new data directory, the starter run that they
queue, and a browser on its page. For each step: the browser's clock when the curve of success had moved and two frames
had passed, minus the time that the engine wrote into the event. Needs Chromium and `requirements/dev.txt`.

    python -m benchmarks.event_to_pixel [--steps N]
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.e2e.chromium import CHROMIUM, FLAGS
from tests.launch.installation import Installation

SKIPPED = 3  # first steps: the page is still loading
HEAR = """
window.heard = {};
window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    this.addEventListener('message', message => {
      for (const event of JSON.parse(message.data).events ?? [])
        if (event.kind === 'step_completed') window.heard[event.step] ??= Date.now() / 1000;
    });
  }
};"""
WATCH = """() => {
  const chart = document.querySelector('[data-chart="rollout/success"] .chart-plot');
  window.moved = {};
  new MutationObserver(() => requestAnimationFrame(() => requestAnimationFrame(() => {
    const step = chart.data.filter(one => one.mode.includes('lines')).at(-1)?.customdata.at(-1);
    if (step !== undefined) window.moved[step] ??= Date.now() / 1000;
  }))).observe(chart, { subtree: true, childList: true, attributes: true, attributeFilter: ['d'] });
}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40, help="training steps to watch")
    options = parser.parse_args()
    if CHROMIUM is None:
        raise SystemExit("Chromium is not on the PATH: apt install chromium")
    scratch = Path(tempfile.mkdtemp())
    with Installation(scratch / "site", threads=None) as site, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        page.add_init_script(HEAR)
        heard, drawn, shown = watch(page, site.link(), options.steps)
        browser.close()
    shutil.rmtree(scratch, ignore_errors=True)
    to_the_browser = {"heard_p50_ms": pick(heard, 0.5), "heard_p95_ms": pick(heard, 0.95)}
    result: dict[str, Any] = {
        "steps": len(drawn),
        "p50_ms": pick(drawn, 0.5),
        "p95_ms": pick(drawn, 0.95),
        **to_the_browser,
    }
    result["shown_on_the_page"] = shown
    sys.stdout.write(json.dumps({"benchmark": "event_to_pixel", **result}) + "\n")
    return 0


def watch(page: Page, link: str, steps: int) -> tuple[list[float], list[float], str]:
    """Lags until the browser's socket has the step, and until it is drawn; and the lag that the page itself shows."""
    page.goto(link)
    page.wait_for_selector("table a[href^='/runs/']")
    address = page.locator("table a[href^='/runs/']").first.get_attribute("href") or ""
    page.goto(address if address.startswith("http") else link.split("/accounts")[0] + address)
    page.wait_for_selector('[data-chart="rollout/success"] .chart-plot .scatterlayer .trace', timeout=120_000)
    page.evaluate(WATCH)
    first = int((page.text_content("#step") or "0").split("/")[0])
    enough = "last => Number(document.querySelector('#step').textContent.split('/')[0]) >= last"
    page.wait_for_function(enough, arg=first + steps, timeout=600_000, polling=500)
    run = page.locator("#run").get_attribute("data-run")
    written = page.evaluate("run => fetch(`/api/v1/runs/${run}/events?limit=2000`).then(one => one.json())", run)
    heard, drawn = (
        lags_of(written["events"], page.evaluate(f"window.{of}"), first + SKIPPED) for of in ("heard", "moved")
    )
    return heard, drawn, page.text_content("#lag") or ""


def lags_of(events: list[dict[str, Any]], seen: dict[str, float], after: int) -> list[float]:
    """Milliseconds per step, in order."""
    times = {str(event["step"]): event["time"] for event in events if event["kind"] == "step_completed"}
    return sorted(1000 * (at - times[step]) for step, at in seen.items() if int(step) > after and step in times)


def pick(ordered: list[float], share: float) -> int:
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))])


if __name__ == "__main__":
    sys.exit(main())
