"""How a run that is over is shown: finished, finished without its success, or ended by an alert; everywhere alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from tests.builders.recorded_run import RecordedRun
from tests.builders.runs import add_evaluation, build_run
from webapp.runs.models import Run
from webapp.runs.states import SHOWN_LABELS, RunState

pytestmark = pytest.mark.django_db

HEALTHY, LOST = [0.5] * 10, [0.5] * 10 + [0.0] * 4


@pytest.fixture
def recorded(runs_directory: Path) -> RecordedRun:
    return RecordedRun()


@pytest.mark.parametrize(
    ("successes", "rule", "shown_as", "label"),
    [
        (HEALTHY, "", "finished", "Finished"),
        (LOST, "", "collapsed", "Finished · collapsed"),
        ([0.5] * 10 + [0.2] * 3, "", "degraded", "Finished · degraded"),
        (HEALTHY, "kl_high", "ended_by_alert", "Ended by alert"),
        (LOST, "kl_high", "ended_by_alert", "Ended by alert"),
    ],
)
def test_an_end_says_what_became_of_the_run(
    recorded: RecordedRun, successes: list[float], rule: str, shown_as: str, label: str
) -> None:
    recorded.succeed(*successes)
    recorded.finish(rule=rule)
    run = Run.objects.get()
    assert (run.state, run.shown_as, run.live_state()["label"]) == ("finished", shown_as, label)
    assert run.live_state()["ended_by"] == rule


def test_a_run_that_is_collapsed_and_continues_is_running(recorded: RecordedRun) -> None:
    recorded.succeed(*LOST)
    recorded.deliver()
    Run.objects.update(state=RunState.RUNNING)
    run = Run.objects.get()
    assert (run.shown_as, run.verdict["title"]) == ("running", "Collapsed")


def test_list_page_and_api_show_the_end_and_the_health(recorded: RecordedRun, browser: Client) -> None:
    recorded.succeed(*LOST)
    recorded.finish()
    run = Run.objects.get()
    for address in ("/runs/", "/runs/rows/", f"/runs/{run.pk}/"):
        page = browser.get(address).content.decode()
        assert '<span class="chip chip--collapsed" data-chip>' in page
        assert "Finished · collapsed" in page
        assert "<span>Collapsed</span>" in page  # the verdict
    [listed] = browser.get("/api/v1/runs/").json()["runs"]
    assert (listed["shown_as"], listed["label"]) == ("collapsed", "Finished · collapsed")
    assert listed["health"] == {key: run.verdict[key] for key in ("label", "title", "level", "reason")}


def test_a_run_that_an_alert_ended_names_it_in_the_list(recorded: RecordedRun, browser: Client) -> None:
    recorded.succeed(*HEALTHY)
    recorded.finish(rule="kl_high", reason="kl_high: KL is 0.44, above 0.1.")
    assert "kl_high: KL is 0.44, above 0.1." in browser.get("/runs/rows/").content.decode()


def test_the_leaderboard_shows_ends_that_are_not_plain(browser: Client) -> None:
    for verdict, name in (({}, "plain"), ({"label": "collapsed"}, "gone"), ({"ended_by": "kl_high"}, "stopped")):
        run = build_run(name=name)
        add_evaluation(run, successes=100)
        Run.objects.filter(pk=run.pk).update(verdict=verdict)
    page = browser.get("/leaderboard/").content.decode()
    rows = {name: page.partition(f">{name}</a>")[2].partition("</td>")[0] for name in ("plain", "gone", "stopped")}
    assert "chip" not in rows["plain"]
    assert "Finished · collapsed" in rows["gone"]
    assert "Ended by alert" in rows["stopped"]


def test_the_list_has_no_health_of_a_run_without_steps(recorded: RecordedRun, browser: Client) -> None:
    page = browser.get("/runs/rows/").content.decode()
    assert '<td class="run-health"><span class="muted">–</span></td>' in page


def test_a_run_of_three_steps_that_is_over_was_too_short(recorded: RecordedRun, browser: Client) -> None:
    recorded.succeed(0.5, 0.5, 0.5)
    recorded.finish()
    page = browser.get("/runs/rows/").content.decode()
    assert "Too short" in page
    assert "Too early to tell" not in page


def test_every_shown_state_has_a_style_and_an_icon() -> None:
    root = Path(__file__).parents[3] / "static"
    styles, icons = (root / "css/components.css").read_text(), (root / "img/icons.svg").read_text()
    plain = {"queued", "stopped"}  # the style of every chip
    assert [key for key in SHOWN_LABELS if f".chip--{key}" not in styles and key not in plain] == []
    assert [key for key in SHOWN_LABELS if f'id="{key}"' not in icons] == []
