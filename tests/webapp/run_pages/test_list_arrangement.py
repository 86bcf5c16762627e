"""The list of runs with forks below what they were forked from, and with seeds folded into their configuration."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.webapp.run_pages.listed import LIST, names_on
from tests.webapp.runs.rows import a_run, report
from webapp.run_pages.listing import FoldedRow
from webapp.runs import live_settings
from webapp.runs.models import Run
from webapp.runs.states import RunState

pytestmark = pytest.mark.django_db


def a_fork(name: str, of: Run) -> Run:
    run = a_run(name)
    run.forked_from, run.fork_step = of, 1
    run.save()
    return run


def with_seed(seed: int, success: float | None = None, **changes: object) -> Run:
    run = a_run(f"seed {seed}")
    run.config |= {"seed": seed, **changes}
    run.save()
    if success is not None:
        report(run, success)
    return run


def depths_on(browser: Client, query: str = "") -> list[tuple[str, int]]:
    return [(row.run.name, row.depth) for row, _ in browser.get(LIST + query).context["rows"]]


def test_forks_are_indented_below_their_run_where_the_newest_of_the_family_is(browser: Client) -> None:
    parent = a_run("parent")
    first = a_fork("first", parent)
    a_run("between")
    a_fork("grandchild", first)
    a_fork("second", parent)
    a_run("newest")
    family = [("parent", 0), ("second", 1), ("first", 1), ("grandchild", 2)]
    assert depths_on(browser) == [("newest", 0), *family, ("between", 0)]
    # a sorted list has its order, unless both are asked for
    assert [depth for _, depth in depths_on(browser, "?sort=name")] == [0] * 6
    by_name = [("between", 0), ("parent", 0), ("first", 1), ("grandchild", 2), ("second", 1), ("newest", 0)]
    assert depths_on(browser, "?sort=name&as=lineage") == by_name


def test_a_fork_whose_run_is_filtered_out_is_not_indented(browser: Client) -> None:
    a_fork("fork", a_run("parent", RunState.FINISHED))
    assert depths_on(browser, "?show=live") == [("fork", 0)]


def test_runs_that_differ_in_their_seed_are_one_line_with_mean_and_interval(browser: Client) -> None:
    for seed, success in enumerate((0.2, 0.4, 0.6)):
        with_seed(seed, success)
    with_seed(1, 0.9, steps=999)
    alone, folded = [
        row for row, _ in browser.get(LIST + "?as=configuration&columns=name,success,seed").context["rows"]
    ]
    assert alone.run.config["steps"] == 999
    assert isinstance(folded, FoldedRow)
    _, mean, seeds = folded.summaries
    # standard deviation 0.2, so 4.302653 x 0.2 / sqrt(3) = 0.497 to each side
    assert mean.text == "0.40 ± 0.50"
    assert mean.detail == "Mean of 3 runs, 95% interval -0.0968 to 0.897 by Student's t"
    assert seeds.text == "0, 1, 2"


def test_seeds_with_equal_results_have_no_interval(browser: Client) -> None:
    for seed in range(2):
        with_seed(seed, 0.25)
    [(folded, _)] = browser.get(LIST + "?as=configuration&columns=name,success").context["rows"]
    assert isinstance(folded, FoldedRow)
    _, mean = folded.summaries
    assert (mean.text, mean.detail) == ("0.25", "2 runs, all equal, which gives no interval")


def test_a_configuration_unfolds_and_its_url_shows_it_unfolded_to_others(browser: Client) -> None:
    for seed in range(2):
        with_seed(seed)
    [(folded, url)] = browser.get(LIST + "?as=configuration").context["rows"]
    assert folded.count == 2
    (opened, back), *members = browser.get(LIST + url).context["rows"]
    assert opened.is_open
    assert [row.run.name for row, _ in members] == ["seed 1", "seed 0"]
    assert len(browser.get(LIST + back).context["rows"]) == 1
    assert names_on(browser, f"?config={folded.config_key}") == ["seed 1", "seed 0"]


def test_a_ticked_configuration_stands_for_all_its_runs(browser: Client) -> None:
    runs = [with_seed(seed) for seed in range(2)]
    [(folded, _)] = browser.get(LIST + "?as=configuration").context["rows"]
    browser.post("/runs/bulk/", {"action": "tag", "tags": "sweep", "run": folded.members})
    assert [list(run.tags.values_list("name", flat=True)) for run in runs] == [["sweep"], ["sweep"]]


def test_configurations_are_sorted_by_the_mean_of_their_seeds(browser: Client) -> None:
    for seed, success in enumerate((0.0, 1.0)):
        with_seed(seed, success, steps=50)  # mean 0.5, though it has the best seed
    for seed, success in enumerate((0.6, 0.7)):
        with_seed(seed, success, steps=70)  # mean 0.65
    rows = browser.get(LIST + "?as=configuration&sort=-success&columns=name,success").context["rows"]
    assert [float(row.summaries[1].text.split(" ")[0]) for row, _ in rows] == pytest.approx([0.65, 0.5])


def test_settings_changed_in_a_live_run_make_another_configuration(browser: Client) -> None:
    with_seed(1)
    changed = with_seed(2)
    assert len(browser.get(LIST + "?as=configuration").context["rows"]) == 1
    live_settings.change(changed, {"optimizer.learning_rate": 1e-5}, None)
    assert len(browser.get(LIST + "?as=configuration").context["rows"]) == 2
