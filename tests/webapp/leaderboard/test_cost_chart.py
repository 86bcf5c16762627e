"""The chart of a measure against what training cost, and its Pareto front."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.builders.suites import document, suite_evaluation, suite_version
from webapp.leaderboard import cost_chart
from webapp.leaderboard.board import read_board
from webapp.leaderboard.cost_chart import CostChart, read_cost_chart
from webapp.leaderboard.entries import add_entry
from webapp.leaderboard.models import Entry
from webapp.leaderboard.query import read_query
from webapp.suites.models import Suite

pytestmark = pytest.mark.django_db


def entry(name: str, solved: str, **fields: Any) -> Entry:
    version = suite_version(document(problems=len(solved)))
    known = {one: fields.pop(one) for one in ("training_seed", "configuration") if one in fields}
    found = add_entry(suite_evaluation({"Bandit": list(solved)}, version=version, model=f"/models/{name}", **known))
    Entry.objects.filter(pk=found.pk).update(**fields)
    return found


def chart(**query: str) -> CostChart:
    found = read_cost_chart(read_board(Suite.objects.get(name="bandits"), read_query({"against": "updates", **query})))
    assert found is not None
    return found


def test_the_front_is_of_rows_that_no_other_beats_at_their_cost() -> None:
    # 20 updates for 2 of 4 are dominated by 10 updates for as much, 40 for 3 by 30 for as much
    for name, solved, updates in (
        ("a", "1100", 10), ("b", "1100", 20), ("c", "1110", 30), ("d", "1110", 40), ("e", "1111", 50), ("f", "1", None),
    ):  # fmt: skip
        entry(name, solved.ljust(4, "0"), updates=updates)
    found = chart()
    assert [(point["x"], point["y"], point["front"]) for point in found.points] == [
        (10, 0.5, True), (20, 0.5, False), (30, 0.75, True), (40, 0.75, False), (50, 1.0, True),
    ]  # fmt: skip
    assert (found.known, found.unknown) == (5, 1)
    assert [(row.row.entry.name, row.cost.text, row.value.text) for row in found.front] == [
        ("a", "10", "50.0%"), ("c", "30", "75.0%"), ("e", "50", "100.0%"),
    ]  # fmt: skip
    assert found.points[0]["low"] == pytest.approx(0.15, abs=1e-3)  # Wilson's interval of 2 of 4


def test_it_charts_the_measure_that_the_table_is_sorted_by_and_fewer_tokens_are_better() -> None:
    for name, tokens, updates in (("a", 90.0, 10), ("b", 95.0, 20), ("c", 60.0, 30)):
        entry(name, "1100", tokens=tokens, updates=updates)
    assert [(point["y"], point["front"]) for point in chart(sort="tokens").points] == [
        (90.0, True), (95.0, False), (60.0, True),
    ]  # fmt: skip
    assert chart(sort="-updates").measure.key == "success"  # a cost is not a measure


def test_hours_of_different_devices_have_fronts_of_their_own() -> None:
    for name, solved, hours, device in (
        ("a", "1100", 1.0, "CPU"), ("b", "1000", 2.0, "CPU"), ("c", "1000", 3.0, "GPU"), ("d", "1110", 4.0, "GPU"),
    ):  # fmt: skip
        entry(name, solved, device_hours=hours, device=device)
    found = chart(against="hours")
    assert [(point["device"], point["front"]) for point in found.points] == [
        ("CPU", True), ("CPU", False), ("GPU", True), ("GPU", True),
    ]  # fmt: skip
    assert found.devices == ["CPU", "GPU"]


def test_training_seeds_are_one_point_at_their_means() -> None:
    for seed, (solved, updates) in enumerate((("1100", 10), ("1110", 20), ("1111", 30))):
        entry("x", solved, updates=updates, training_seed=seed, configuration="A")
    entry("y", "1000", updates=40, training_seed=0, configuration="B")
    found = chart(**{"as": "configuration"})
    assert [(point["x"], point["y"]) for point in found.points] == [(20, 0.75), (40, 0.25)]
    # over seeds: standard deviation .25, t 4.302653: .75 - .6210, and at most 1
    assert (found.points[0]["low"], found.points[0]["high"]) == pytest.approx((0.128962, 1.0), abs=1e-5)


def test_of_many_rows_the_front_and_the_best_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_chart, "MOST_POINTS", 3)
    for name, solved, updates in (("a", "1000", 1), ("b", "1111", 9), ("c", "1100", 10), ("d", "1110", 10)):
        entry(name, solved, updates=updates)
    found = chart()
    assert [(point["x"], point["front"]) for point in found.points] == [(1, True), (9, True), (10, False)]
    assert found.points[2]["y"] == 0.75
    assert found.known == 4


def test_the_page_has_the_chart_of_its_address_with_a_link_for_each_point(client: Client) -> None:
    client.force_login(User.objects.create_user("ada"))
    first = entry("<b>best</b>", "1110", updates=10)
    entry("worse", "1000", updates=20)
    assert 'id="cost-chart"' not in client.get("/leaderboard/").content.decode()
    page = client.get("/leaderboard/?against=updates&sort=-return").content.decode()
    assert "Return against updates" in page
    assert f'"address": "/evaluations/{first.pk}/"' in page
    assert "<b>best</b>" not in page
    assert "against=hours" in page
    assert "No row has both" in client.get("/leaderboard/?against=hours").content.decode()
    assert 'id="cost-chart"' not in client.get("/leaderboard/?against=nonsense").content.decode()


def test_a_public_link_shows_the_chart_without_links(client: Client) -> None:
    client.force_login(User.objects.create_user("ada"))
    entry("best", "1110", updates=10)
    made = client.post("/leaderboard/links/", {"query": "suite=bandits&against=updates"}).content.decode()
    address = made.split("/public/leaderboard/")[1].split("</pre>")[0]
    page = Client().get(f"/public/leaderboard/{address}").content.decode()
    assert "Success against updates" in page
    assert '"address": ""' in page
