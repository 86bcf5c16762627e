"""The page of the queue: who has slots, who waits, for how long; and the same over the API."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from engine.config import RunConfig
from tests.hostile import STORABLE
from tests.webapp.sweeps.sweeping import a_sweep
from webapp.queue_pages.schedule import schedule
from webapp.runs.models import Run

HOLDS = {"process": {"host": "node-1/pid:[1]", "pid": 4711, "cookie": "c"}}


@pytest.mark.parametrize(
    ("held", "durations", "slots", "expected"),
    [
        # one slot that is free after 60 s: 60 to 90, then 90 to 100
        ([60.0], [30.0, 10.0], 1, [(60.0, 90.0), (90.0, 100.0)]),
        # two slots, free after 60 and 20 s: 20 to 120; 60 to 70; then the second one again, 70 to 75
        ([60.0, 20.0], [100.0, 10.0, 5.0], 2, [(20.0, 120.0), (60.0, 70.0), (70.0, 75.0)]),
        # a free slot
        ([60.0], [30.0, 10.0], 2, [(0.0, 30.0), (30.0, 40.0)]),
        # a paused run may resume and end at any time: only free slots are known
        ([None], [30.0, 10.0], 2, [(0.0, 30.0), (None, None)]),
        # after a run of unknown length nothing is known
        ([60.0], [None, 10.0], 1, [(60.0, None), (None, None)]),
        ([], [], 3, []),
    ],
)
def test_queued_runs_take_the_slot_that_is_free_first(
    held: list[float | None], durations: list[float | None], slots: int, expected: list[Any]
) -> None:
    assert [(one.start, one.end) for one in schedule(held, durations, slots)] == expected


def a_run(name: str, **fields: Any) -> Run:
    config = RunConfig.model_validate({}).model_dump(mode="json")
    queued = timezone.now() - timedelta(hours=1)
    return Run.objects.create(**{"name": name, "config": config, "total_steps": 20, "queued_at": queued, **fields})


def text_of(answer: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.content.decode()))


@pytest.mark.django_db
def test_an_empty_queue_says_so_and_has_the_rule(browser: Client) -> None:
    page = text_of(browser.get("/queue/"))
    assert "No run has an engine." in page and "Nothing is waiting." in page
    assert "the user who has the fewest engine slots" in page and "STARBOARD_PREEMPTION" in page


@pytest.mark.django_db
def test_the_page_says_who_has_slots_who_waits_and_how_long(browser: Client, user: User) -> None:
    # 10 of 20 steps in 100 s: 100 s are left; the queued one has as many steps of the same kind: 200 s
    holder = a_run("holder", owner=user, state="running", step=10, seconds=100.0, **HOLDS)
    waiting = a_run("waiting")
    found = browser.get("/queue/rows/").content.decode()
    page = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", found))
    assert "1 of 1 in use" in page and "node-1, process 4711" in page and "about 2 min" in page
    assert f'href="/runs/{holder.pk}/"' in found and f'data-run="{waiting.pk}"' in found
    assert "in about 2 min" in page and "about 3 min" in page
    answer = browser.get("/api/v1/queue/").json()
    assert [(one["name"], one["left"], one["engine"]) for one in answer["running"]] == [
        ("holder", "about 2 min", "node-1, process 4711")
    ]
    assert [(one["name"], one["position"], one["starts"], one["lasts"]) for one in answer["waiting"]] == [
        ("waiting", 1, "in about 2 min", "about 3 min")
    ]


@pytest.mark.django_db
def test_an_unknown_time_is_called_unknown_with_the_reason(browser: Client) -> None:
    a_run("paused", state="paused", step=10, seconds=100.0)
    a_run("waiting", config={**RunConfig.model_validate({}).model_dump(mode="json"), "model": {"path": "elsewhere"}})
    page = text_of(browser.get("/queue/"))
    assert "It is paused, and holds its slot until it is resumed or stopped." in page
    assert "with elsewhere." in page


@pytest.mark.django_db
def test_what_sweeps_have_yet_to_queue_is_listed(browser: Client, user: User) -> None:
    sweep = a_sweep(user, at_once=3)
    page = text_of(browser.get("/queue/"))
    assert f"{sweep.name} 5 runs to queue · 3 at once · normal priority · {user.username}" in page
    assert f"sweep {sweep.name}" in page


@pytest.mark.django_db
def test_a_row_is_moved_to_a_position_from_the_page_and_over_the_api(browser: Client) -> None:
    runs = [a_run(name) for name in "abc"]
    moved = browser.post(
        f"/runs/{runs[2].pk}/control/", {"action": "queue_to", "position": "1"}, headers={"accept": "application/json"}
    )
    assert moved.status_code == 200
    names = [one["name"] for one in browser.get("/api/v1/queue/").json()["waiting"]]
    assert names == ["c", "a", "b"]
    address = f"/api/v1/runs/{runs[0].pk}/queue-position"
    for position, status in ((3, 200), (9, 409)):  # the third is the last already
        answer = browser.post(address, json.dumps({"position": position}), content_type="application/json")
        assert answer.status_code == status
    assert [one["name"] for one in browser.get("/api/v1/queue/").json()["waiting"]] == ["c", "b", "a"]
    for wrong in ("", "x", "0.5"):
        refused = browser.post(
            f"/runs/{runs[0].pk}/control/", {"action": "queue_to", "position": wrong},
            headers={"accept": "application/json"},
        )  # fmt: skip
        assert refused.status_code == 409


@pytest.mark.django_db
@pytest.mark.parametrize("name", [text for text in STORABLE if 0 < len(text) <= 80][:6])
def test_the_name_of_a_run_is_text(browser: Client, name: str) -> None:
    a_run(name)
    a_run(name, state="running")
    assert "<script>alert" not in browser.get("/queue/").content.decode()
