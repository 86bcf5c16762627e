"""The queue of runs: its order, moving a run in it, and what waiting and paused runs say."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from engine.config import RunConfig
from tests.hostile import STORABLE
from webapp.audit.models import AuditEntry
from webapp.runs import queue
from webapp.runs.models import Run
from webapp.runs.priorities import priority_name, priority_number
from webapp.runs.queue import Holder, standing_at
from webapp.runs.services import request_resume, submit_run

pytestmark = pytest.mark.django_db

ONE, TWO = Holder("a", "calm-otter", "running"), Holder("b", "bold-heron", "running")
PAUSED = ONE._replace(state="paused")


def a_queue(*names: str, hours: int = 1) -> list[Run]:
    """Queued so many hours ago, the first a little earlier than the others."""
    began = timezone.now() - timedelta(hours=hours)
    config = RunConfig.model_validate({}).model_dump(mode="json")
    return [
        Run.objects.create(name=name, config=config, total_steps=4, queued_at=began + timedelta(seconds=index))
        for index, name in enumerate(names)
    ]


def order() -> str:
    return "".join(run.name for run in queue.waiting())


@pytest.fixture
def browser() -> Client:
    client = Client()
    client.force_login(User.objects.create_user("ada"))
    return client


@pytest.mark.parametrize(
    ("position", "holders", "slots", "text"),
    [
        (1, [], 1, "Waiting for a worker"),
        (2, [ONE], 3, "Waiting for a worker"),
        (3, [], 1, "3rd of 23 in the queue. Waits for the runs before it (0 of 1 engine slots in use)"),
        (4, [ONE], 3, "4th of 23 in the queue. Waits for the runs before it (1 of 3 engine slots in use)"),
        (1, [ONE], 1, "1st of 23 in the queue. Waits for 'calm-otter' to finish (1 of 1 engine slots in use)"),
        (
            2,
            [ONE, TWO],
            2,
            "2nd of 23 in the queue. Waits for 'calm-otter' or 'bold-heron' to finish (2 of 2 engine slots in use)",
        ),
        (
            3,
            [PAUSED],
            1,
            "3rd of 23 in the queue. Waits for 'calm-otter', which is paused and holds the slot: resume or stop it",
        ),
        (
            12,
            [TWO, PAUSED],
            2,
            "12th of 23 in the queue. Waits for 'calm-otter', which is paused and holds a slot: resume or stop it",
        ),
        (
            23,
            [PAUSED, TWO._replace(state="paused")],
            2,
            "23rd of 23 in the queue. Waits for 'calm-otter' or 'bold-heron', which are paused and hold slots: "
            "resume or stop one",
        ),
    ],
)
def test_what_a_queued_run_waits_for(position: int, holders: list[Holder], slots: int, text: str) -> None:
    assert standing_at(position, 23, holders, slots).text == text


def test_what_it_waits_for_fits_its_column_for_any_names() -> None:
    long = [ONE._replace(name="x" * 80)] * 3
    column = Run._meta.get_field("wait_reason").max_length or 0
    assert len(standing_at(1000, 1000, long, 3).text) <= column
    assert len(standing_at(1, 1, [one._replace(state="paused") for one in long], 3).text) <= column


def test_the_highest_priority_is_next_then_the_oldest() -> None:
    a_queue(*"abcd")
    Run.objects.filter(name="c").update(priority=2)
    Run.objects.filter(name__in="bd").update(priority=1)
    assert order() == "cbda"


@pytest.mark.parametrize(
    ("name", "direction", "expected"),
    [
        ("c", "up", "acbd"),
        ("d", "first", "dabc"),
        ("a", "down", "bacd"),
        ("c", "down", "abdc"),
        ("a", "up", None),
        ("a", "first", None),
        ("d", "down", None),
    ],
)
def test_a_run_moves_past_its_neighbour_or_to_the_head(name: str, direction: Any, expected: str | None) -> None:
    a_queue(*"abcd")
    assert queue.reorder(Run.objects.get(name=name), None, direction) is (expected is not None)
    assert order() == (expected or "abcd")


def test_moves_add_up_and_a_run_that_is_queued_later_comes_last() -> None:
    runs = {run.name: run for run in a_queue(*"abcd")}
    for name, direction in (("d", "first"), ("c", "up"), ("a", "down"), ("d", "down")):
        queue.reorder(runs[name], None, direction)  # type: ignore[arg-type]
    # dabc, dacb, dcab, cdab
    assert order() == "cdab"
    a_queue("e", hours=0)
    assert order() == "cdabe"


@pytest.mark.parametrize(("before", "after"), [(7, 0), (1002, 1000), (-999, -1000)])
def test_a_resumed_run_keeps_its_priority_and_none_of_its_moves(before: int, after: int) -> None:
    [run] = a_queue("a")
    Run.objects.filter(pk=run.pk).update(state="stopped", priority=before)
    run.refresh_from_db()
    assert request_resume(run)
    assert (run.state, run.priority) == ("queued", after)


def test_a_run_that_passes_one_of_high_priority_has_it_too() -> None:
    first, second = a_queue(*"ab")
    Run.objects.filter(pk=first.pk).update(priority=priority_number("high"))
    queue.reorder(second, None, "first")
    assert order() == "ba"
    assert [priority_name(run.priority) for run in queue.waiting()] == ["high", "high"]
    words = [standing.text for standing in queue.standings(list(queue.waiting())).values()]
    assert words[1].startswith("2nd of 2 in the queue, with high priority. Waits for")


def test_only_a_queued_run_moves_and_each_attempt_is_recorded(browser: Client) -> None:
    first, second = a_queue(*"ab")
    Run.objects.filter(pk=first.pk).update(state="running")
    control = "/runs/{}/control/".format
    refused = browser.post(control(first.pk), {"action": "queue_up"}, headers={"accept": "application/json"})
    assert (refused.status_code, refused.json()["error"]) == (
        409,
        "Only queued runs can be moved in the queue; a is running.",
    )
    there = browser.post(control(second.pk), {"action": "queue_first"}, headers={"accept": "application/json"})
    assert (there.status_code, there.json()["error"]) == (409, "b is already there in the queue.")
    a_queue("c", hours=0)
    moved = browser.post(control(second.pk), {"action": "queue_down", "next": "/runs/?show=live"})
    assert (moved.status_code, moved["Location"]) == (302, "/runs/?show=live")
    found = AuditEntry.objects.order_by("pk").values_list("action", "who", "outcome", "detail")
    assert list(found) == [
        ("queue_up", "ada", "refused", {}),
        ("queue_first", "ada", "refused", {}),
        ("queue_down", "ada", "done", {"from": "1st", "to": "2nd"}),
    ]


def test_the_list_links_to_the_paused_run_that_holds_the_slot_and_offers_moves(browser: Client) -> None:
    holder, first, second = a_queue("calm-otter", "b", "c")
    Run.objects.filter(pk=holder.pk).update(state="paused")
    page = browser.get("/runs/").content.decode()
    link = f'<a href="/runs/{holder.pk}/">calm-otter</a>'
    assert f"2nd of 2 in the queue. Waits for {link}, which is paused and holds the slot: resume or stop it" in page
    assert "It holds its engine slot, and 2 queued runs wait for it: resume or stop it." in page
    offered = {run.name: page.count(f'formaction="/runs/{run.pk}/control/"') for run in (holder, first, second)}
    assert offered == {"calm-otter": 0, "b": 1, "c": 2}  # down; first and up
    assert browser.get(f"/runs/{first.pk}/latest/").status_code == 200


def test_a_page_gets_the_words_with_the_runs_that_they_name(browser: Client) -> None:
    holder, waiting = a_queue("calm-otter", "b")
    Run.objects.filter(pk=holder.pk).update(state="paused")
    answer = browser.post(
        f"/runs/{waiting.pk}/control/", {"action": "checkpoint"}, headers={"accept": "application/json"}
    )
    assert answer.json()["state"]["queue"] == {
        "words": [
            "1st of 1 in the queue. Waits for ",
            {"run": holder.pk, "name": "calm-otter"},
            ", which is paused and holds the slot: resume or stop it",
        ],
        "position": 1,
        "length": 1,
    }


def test_a_paused_run_that_nobody_waits_for_says_nothing() -> None:
    [run] = a_queue("a")
    Run.objects.filter(pk=run.pk).update(state="paused")
    assert queue.standings([Run.objects.get()]) == {}


def test_what_many_runs_wait_for_is_written_for_the_first_of_them_only() -> None:
    holder, *_ = a_queue(*(str(number) for number in range(queue.MANY + 3)))
    Run.objects.filter(pk=holder.pk).update(state="running")
    queue.report()
    reasons = [run.wait_reason for run in queue.waiting()]
    assert reasons[queue.MANY - 1].startswith("20th of 22 in the queue.")
    assert reasons[queue.MANY :] == ["Waits for more than 20 queued runs before it"] * 2


@pytest.mark.parametrize("name", [text for text in STORABLE if 0 < len(text) <= 80][:6])
def test_the_name_of_a_holder_is_text(browser: Client, name: str) -> None:
    holder, _ = a_queue("x", "b")
    Run.objects.filter(pk=holder.pk).update(state="paused", name=name)
    assert "<script>alert" not in browser.get("/runs/").content.decode()


def test_a_submitted_run_begins_at_the_end() -> None:
    a_queue("a", "b")
    queue.reorder(Run.objects.get(name="b"), None, "first")
    submit_run(owner=None, config=RunConfig.model_validate({}), name="c")
    assert order() == "bac"
