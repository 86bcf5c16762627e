"""Kinds of faults in responses: stored with each row, filtered by, and labelled."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from engine.metrics import GLOSSARY
from tests.builders.trajectories import record_steps
from tests.webapp.trajectories.test_over_runs import plan_of
from tests.webapp.trajectories.test_search import save, turn
from webapp.runs.models import Run
from webapp.trajectories import services
from webapp.trajectories.faults import KINDS, as_column, kinds_in, label_of
from webapp.trajectories.filters import read_filters
from webapp.trajectories.models import Trajectory
from webapp.trajectories.paging import NEWEST_OF_ALL, page_of


def members(run: Run, kind: str) -> list[int]:
    rows = read_filters({"parse": kind}, run_id=run.pk).apply(Trajectory.objects.filter(run=run))
    return sorted(rows.values_list("member", flat=True))


def test_a_row_has_each_fault_kind_once_in_the_parser_s_order(run: Run) -> None:
    row = save(run, [turn("", parse="unclosed"), turn("", parse="no_think"), turn("", parse="unclosed"), turn("go")])[0]
    assert (row.faults, row.parse_failures) == (" no_think unclosed ", 3)
    assert kinds_in(row.faults) == ["no_think", "unclosed"]


def test_the_index_agrees_with_the_files_of_real_rollouts(run: Run) -> None:
    rows = record_steps(run, run.parsed_config().environments[0], steps=range(1, 2), faults=0.5)
    assert any(row.faults for row in rows)
    for row in rows:
        cases = {turn["parse"] for turn in services.record(row)["turns"]}
        assert set(kinds_in(row.faults)) == cases - {"ok"}


def test_each_kind_filters_its_own_rows(run: Run) -> None:
    surplus = turn("fine", "Up") | {"surplus": 2}
    save(run, *([turn("", parse=kind)] for kind in KINDS), [turn("fine", "Up")], [surplus, surplus])
    assert [members(run, kind) for kind in KINDS] == [[index] for index in range(len(KINDS))]
    fine = len(KINDS)
    assert members(run, "ok") == [fine, fine + 1]  # with surplus actions the first ones are executed
    assert members(run, "failed") == list(range(fine))
    assert members(run, "surplus") == [fine + 1]
    assert Trajectory.objects.get(run=run, member=fine + 1).surplus == 4


def test_kinds_that_the_parser_does_not_know_are_ignored(run: Run) -> None:
    row = save(run, [turn("", parse="<script>")])[0]
    assert (row.faults, row.parse_failures) == ("", 1)
    assert read_filters({"parse": "<script>"}).problems[0].startswith("Responses cannot be '<script>'. Choose one of:")


def test_all_kinds_at_once_fit_into_their_column() -> None:
    assert len(as_column(KINDS)) <= Trajectory._meta.get_field("faults").max_length
    assert not any(kind in other for kind in KINDS for other in KINDS if kind != other)


def test_every_kind_has_a_glossary_entry() -> None:
    for kind in KINDS:
        assert f"rollout/parse/{kind}" in GLOSSARY
        assert label_of(kind) != kind


def test_the_list_labels_kinds_and_offers_them_as_filters(browser: Client, run: Run) -> None:
    save(run, [turn("", parse="no_think"), turn("", parse="unclosed"), turn("fine", "Up") | {"surplus": 3}])
    page = browser.get(f"/runs/{run.pk}/trajectories/?parse=no_think").content.decode()
    assert 'title="no thought, unclosed tag">no thought +1</span>' in page
    assert '<option value="no_think" selected>no thought</option>' in page
    assert '<span class="malformed">2</span>' in page
    assert ">3 surplus</span>" in page


@pytest.mark.parametrize(("kind", "index"), [("no_think", "faults"), ("surplus", "surplus")])
@pytest.mark.skipif("sqlite" not in connection.settings_dict["ENGINE"], reason="plans are SQLite's")
def test_a_kind_filter_over_all_runs_reads_only_rows_that_have_it(run: Run, kind: str, index: str) -> None:
    save(run, [turn("", parse="no_think")], [turn("fine", "Up")])
    with CaptureQueriesContext(connection) as queried:
        page_of(read_filters({"parse": kind}).apply(Trajectory.objects.all()), NEWEST_OF_ALL)
    assert f"USING INDEX trajectories_with_{index}" in plan_of(queried.captured_queries[0]["sql"])
