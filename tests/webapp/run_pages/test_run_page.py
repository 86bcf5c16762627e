"""The page of one run: its first rendering, the requests it accepts, and its log."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from engine.metrics import OVERVIEW
from tests.webapp.runs.rows import a_run, fault, report
from webapp.run_pages.log_tail import MOST
from webapp.run_pages.page_data import TABS
from webapp.runs.models import RecordProblem, Run, SupersededStep
from webapp.runs.states import Request, RunState

pytestmark = pytest.mark.django_db


def page_of(browser: Client, run: Run) -> str:
    return browser.get(f"/runs/{run.pk}/").content.decode()


def embedded(page: str, name: str) -> Any:
    found = re.search(rf'<script id="{name}" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def request(browser: Client, run: Run, action: str, **more: str) -> Any:
    return browser.post(f"/runs/{run.pk}/control/", {"action": action, **more}, headers={"Accept": "application/json"})


def test_problems_of_the_record_are_named_above_all_tabs_and_among_the_alerts_of_the_api(browser: Client) -> None:
    run = a_run()
    assert 'id="record-problems"' not in page_of(browser, run)
    RecordProblem.objects.create(run=run, kind="gap", offset=12, reason="2 events are missing.")
    page = page_of(browser, run)
    assert "1 problem in the record of this run: 2 events are missing." in page[: page.index('id="view-overview"')]
    found = browser.get(f"/api/v1/runs/{run.pk}/alerts").json()
    assert found["record_problems"] == [{"kind": "gap", "offset": 12, "reason": "2 events are missing."}]


def test_the_page_begins_with_the_verdict(browser: Client) -> None:
    run = a_run()
    report(run, *[0.2] * 10, *[0.5] * 10)
    page = page_of(browser, run)
    assert "Learning" in page
    assert "0.20 → 0.50" in page


@pytest.mark.parametrize("steps", [0, 20])
def test_a_run_waiting_for_its_cluster_shows_what_is_missing_before_and_after_a_failure(
    browser: Client, steps: int
) -> None:
    run = a_run(state=RunState.STARTING)
    report(run, *[0.5] * steps)
    Run.objects.filter(pk=run.pk).update(wait_reason="needs 4 GPUs, 2 free of 8", attempt=1 + bool(steps))
    page = page_of(browser, run)
    assert '<span id="verdict-reason">needs 4 GPUs, 2 free of 8</span>' in page
    assert embedded(page, "live-state")["status"]["label"] == "Waiting"


def test_every_tab_has_a_class_in_the_script_and_the_other_way_round() -> None:
    script = (Path(settings.BASE_DIR) / "static/js/run/tabs/index.js").read_text()
    drawn = re.search(r"return \{(.*?)\};", script, re.DOTALL)
    assert drawn is not None
    keys = [tab.key for tab in TABS]
    assert sorted(re.findall(r"^    (\w+): new ", drawn[1], re.MULTILINE)) == sorted(keys), (
        "a tab is an entry of TABS in webapp/run_pages/page_data.py and of makeTabs in static/js/run/tabs/index.js"
    )


def test_scripts_get_state_panels_and_glossary_as_data(browser: Client) -> None:
    run = a_run(steps=4)
    report(run, 0.5)
    page = page_of(browser, run)
    state = embedded(page, "live-state")
    assert (state["state"], state["step"], state["total_steps"]) == ("running", 1, 4)
    first = embedded(page, "panels")[0]
    assert (first["key"], [chart["title"] for chart in first["charts"]]) == (
        "overview",
        [one.title for one in OVERVIEW],
    )
    assert embedded(page, "glossary")["reward/mean"]["meaning"]


def fallen() -> Run:
    """Queued again after a failure."""
    run = a_run(state=RunState.QUEUED)
    Run.objects.filter(pk=run.pk).update(restarts=1, faults=[fault()], state_reason="It was killed.", restart_pause=60)
    run.refresh_from_db()
    return run


def test_a_restarting_run_shows_the_failure_and_the_restarts_used(browser: Client) -> None:
    run = fallen()
    page = page_of(browser, run)
    assert page.count("chip--restarting") == 3  # for the state, the status, and the restarts
    assert '<span id="verdict-reason">It was killed.</span>' in page
    assert "1 of 3 restarts" in page
    state = embedded(page, "live-state")
    assert (state["state"], state["label"], state["restarts"], state["restart_budget"]) == (
        "queued",
        "Restarting",
        1,
        3,
    )
    assert state["faults"] == run.faults


def test_a_run_without_failures_does_not_mention_restarts(browser: Client) -> None:
    assert re.search(r'id="restarts"[^>]* hidden>', page_of(browser, a_run()))


def test_the_config_is_shown_with_the_command_that_reproduces_it(browser: Client) -> None:
    run = a_run()
    page = page_of(browser, run)
    assert "[rollout]" in page
    assert "python -m engine train" in page
    assert run.pk in page


@pytest.mark.parametrize(
    ("action", "requested"), [("pause", Request.PAUSE), ("stop", Request.STOP), ("checkpoint", Request.RUN)]
)
def test_a_running_run_accepts_requests(browser: Client, action: str, requested: Request) -> None:
    run = a_run()
    assert request(browser, run, action).status_code == 200
    run.refresh_from_db()
    assert run.requested == requested
    assert run.checkpoint_requests == (1 if action == "checkpoint" else 0)


def test_a_refused_action_names_the_state(browser: Client) -> None:
    answer = request(browser, a_run(state=RunState.FINISHED), "pause")
    assert answer.status_code == 409
    assert answer.json()["error"] == "Cannot pause a run that is finished."


def test_a_stopped_run_resumes_as_a_new_attempt(browser: Client) -> None:
    run = a_run(state=RunState.STOPPED)
    assert request(browser, run, "resume").json()["state"]["state"] == "queued"
    run.refresh_from_db()
    assert run.attempt == 2


def test_an_unknown_action_lists_the_allowed_ones(browser: Client) -> None:
    answer = request(browser, a_run(), "explode")
    assert answer.status_code == 400
    assert "checkpoint" in answer.json()["error"]


def test_a_run_is_renamed_but_not_to_an_empty_name(browser: Client) -> None:
    run = a_run("before")
    assert request(browser, run, "rename", name=" after ").status_code == 200
    assert request(browser, run, "rename", name="   ").status_code == 409
    run.refresh_from_db()
    assert run.name == "after"


def test_a_form_redirects_only_within_the_site(browser: Client) -> None:
    run = a_run()
    answer = browser.post(f"/runs/{run.pk}/control/", {"action": "pause", "next": "//evil.example/"})
    assert answer["Location"] == f"/runs/{run.pk}/"


def write_log(run: Run, text: str) -> Path:
    run.directory.mkdir(parents=True)
    log = run.directory / "engine.log"
    log.write_text(text)
    return log


def test_the_log_is_read_from_the_previous_offset(browser: Client) -> None:
    run = a_run()
    log = write_log(run, "one\n")
    assert browser.get(f"/runs/{run.pk}/log/").json() == {"text": "one\n", "start": 0, "end": 4}
    with log.open("a") as file:
        file.write("two\n")
    assert browser.get(f"/runs/{run.pk}/log/?after=4").json() == {"text": "two\n", "start": 4, "end": 8}


def test_a_long_log_is_read_from_its_end_in_whole_lines(browser: Client) -> None:
    run = a_run()
    lines = [f"{number:07}\n" for number in range(20_000)]
    text = "x" + "".join(lines) + "end"  # lines of 8 bytes begin at 1, 9, 17 …; 160,004 bytes
    write_log(run, text)
    newest = browser.get(f"/runs/{run.pk}/log/").json()
    # the last 65,536 bytes begin at 94,468, within the line from 94,465 on; the next one begins at 94,473
    assert newest == {"text": text[94_473:], "start": 94_473, "end": 160_004}
    older = browser.get(f"/runs/{run.pk}/log/?before=94473").json()
    # those from 28,937 on, which is 1 + 8 x 3,617: a whole line
    assert older == {"text": text[28_937:94_473], "start": 28_937, "end": 94_473}
    assert browser.get(f"/runs/{run.pk}/log/?before=9").json() == {"text": "x0000000\n", "start": 0, "end": 9}
    following = browser.get(f"/runs/{run.pk}/log/?after=1").json()
    assert (following["text"], following["end"]) == (text[1:65_537], 65_537)


def test_a_line_that_is_longer_than_a_piece_is_cut(browser: Client) -> None:
    run = a_run()
    write_log(run, "x" * MOST + "end")
    answer = browser.get(f"/runs/{run.pk}/log/").json()
    assert len(answer["text"]) == MOST
    assert answer["text"].endswith("end")


def test_the_whole_log_can_be_downloaded(browser: Client) -> None:
    run = a_run()
    assert browser.get(f"/runs/{run.pk}/log/download/").status_code == 404
    write_log(run, "one\n" * 50_000)
    answer = browser.get(f"/runs/{run.pk}/log/download/")
    assert answer.getvalue() == b"one\n" * 50_000
    assert answer["Content-Disposition"] == f'attachment; filename="{run.pk}.log"'


def test_no_log_yet_is_empty(browser: Client) -> None:
    assert browser.get(f"/runs/{a_run().pk}/log/").json() == {"text": "", "start": 0, "end": 0}


def test_an_invalid_offset_is_refused(browser: Client) -> None:
    assert browser.get(f"/runs/{a_run().pk}/log/?after=-1").status_code == 400


@pytest.mark.parametrize("path", ["", "latest/", "log/"])
def test_an_unknown_run_is_a_404(browser: Client, path: str) -> None:
    assert browser.get(f"/runs/nothing/{path}").status_code == 404


def test_other_http_methods_are_refused(browser: Client) -> None:
    run = a_run()
    assert browser.post(f"/runs/{run.pk}/").status_code == 405
    assert browser.get(f"/runs/{run.pk}/control/").status_code == 405
    assert browser.post(f"/runs/{run.pk}/log/").status_code == 405


def test_anonymous_users_cannot_control_a_run(client: Client) -> None:
    run = a_run()
    client.post(f"/runs/{run.pk}/control/", {"action": "stop"})
    run.refresh_from_db()
    assert run.state == RunState.RUNNING


def test_the_newest_trajectories_are_served_as_a_fragment(browser: Client) -> None:
    assert "No trajectories yet." in browser.get(f"/runs/{a_run().pk}/latest/").content.decode()


def test_steps_that_a_later_attempt_repeated_are_named_with_a_link_to_their_trajectories(browser: Client) -> None:
    run = a_run()
    for step in (3, 4):
        SupersededStep.objects.create(
            run=run,
            seq=step,
            attempt=1,
            superseded_by=2,
            step=step,
            time=1.0,
            tokens=1,
            seconds=1.0,
            metrics={"a": 0.5},
        )
    page = page_of(browser, run)
    assert "Steps 3 to 4 of attempt 1, repeated by attempt 2" in page
    assert "Their groups, evaluations and alerts are only in <code>events.jsonl</code>" in page
    answer = browser.get(f"/api/v1/runs/{run.pk}/superseded-steps").json()
    assert [(row["step"], row["attempt"], row["metrics"]) for row in answer["steps"]] == [
        (3, 1, {"a": 0.5}),
        (4, 1, {"a": 0.5}),
    ]
