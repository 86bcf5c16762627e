"""A fork in a browser: its curves continue those of its parent, the fork is marked, and it has its own colour."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.builders.recorded_run import RecordedRun
from tests.e2e.charts import ENTROPY, PLOT, SUCCESS, page
from tests.e2e.open_site import needs_chromium
from tests.e2e.threads import in_thread
from webapp.runs.models import Run

__all__ = ["page"]

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]

LINES = "plot => plot.data.filter(trace => trace.name)"
SERIES = "name => getComputedStyle(document.documentElement).getPropertyValue(name).trim()"


def fork_and_parent() -> tuple[RecordedRun, RecordedRun]:
    """A run of 20 steps, and a fork of its step 12 that has made 6."""

    def record() -> tuple[RecordedRun, RecordedRun]:
        parent, fork = RecordedRun(name="calm-otter"), RecordedRun(name="bold-heron")
        fields: dict[str, Any] = {"forked_from": parent.run, "fork_step": 12, "ancestor_steps": 12, "colour": 3}
        Run.objects.filter(pk=fork.run.pk).update(**fields)
        for recorded, steps in ((parent, 20), (fork, 6)):
            recorded.take_steps(steps)
            recorded.deliver()
        return fork, parent

    return in_thread(record)


def lines_of(page: Page, chart: str, count: int) -> list[dict[str, Any]]:
    plot = page.locator(f"{chart} {PLOT}")
    plot.scroll_into_view_if_needed()
    page.wait_for_function(
        f"([plot, count]) => plot.data && ({LINES})(plot).filter(line => line.x.length).length === count",
        arg=[plot.element_handle(), count],
    )
    found: list[dict[str, Any]] = plot.evaluate(
        f"plot => ({LINES})(plot).map(line => ({{x: [...line.x], color: line.line.color, dash: line.line.dash}}))"
    )
    return found


def test_a_fork_continues_its_parent_s_curve_and_keeps_its_colour(page: Page) -> None:
    fork, parent = fork_and_parent()
    page.goto(f"/runs/{fork.run.pk}/")
    [own] = lines_of(page, ENTROPY, 1)
    assert own["x"] == list(range(1, 7))
    assert own["color"] == page.evaluate(SERIES, "--series-3")
    page.locator("#x-axis").select_option("step, with ancestors")
    before, own = lines_of(page, ENTROPY, 2)
    assert (before["x"], own["x"]) == (list(range(1, 13)), list(range(13, 19)))
    assert page.locator(f"{ENTROPY} {PLOT}").evaluate(
        "plot => plot.layout.annotations.map(one => [one.x, one.hovertext])"
    ) == [[12, "forked from calm-otter at step 12"]]
    expect(page.locator("#lineage-step")).to_have_text("18")
    page.reload()
    assert len(lines_of(page, ENTROPY, 2)) == 2
    page.goto(f"/runs/{parent.run.pk}/?x=lineage")  # a run without ancestors has no such axis
    expect(page.locator("#x-axis")).to_have_value("step")


def test_compared_runs_are_drawn_along_their_lineage_in_their_own_colours(page: Page) -> None:
    fork, parent = fork_and_parent()
    page.goto(f"/compare/?runs={fork.run.pk}&x=lineage")
    before, own = lines_of(page, SUCCESS, 2)
    assert (before["x"][-1], own["x"]) == (12, list(range(13, 19)))
    page.goto(f"/compare/?runs={parent.run.pk},{fork.run.pk}&x=lineage")
    whole, own = lines_of(page, SUCCESS, 2)  # the parent's line is there once
    assert (whole["x"][-1], own["x"]) == (20, list(range(13, 19)))
    assert [one["color"] for one in (whole, own)] == [page.evaluate(SERIES, f"--series-{colour}") for colour in (1, 3)]
    expect(page.locator(f'[data-run="{fork.run.pk}"] [data-lineage-step]')).to_have_text("18")


def test_runs_of_one_colour_differ_in_their_dashes(page: Page) -> None:
    fork, parent = fork_and_parent()
    in_thread(lambda: Run.objects.update(colour=5))
    page.goto(f"/compare/?runs={parent.run.pk},{fork.run.pk}")
    assert [one["dash"] for one in lines_of(page, ENTROPY, 2)] == ["solid", "dash"]
    expect(page.locator(f'[data-run="{fork.run.pk}"] .run-swatch')).to_have_attribute("data-dash", "1")
