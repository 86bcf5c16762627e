"""The Compare page: which runs, how they are grouped, and what is said about them."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict
from django.test import Client

from engine.events import AlertRaised
from engine.sweeps.plan import SweepPlan
from tests.builders.runs import add_curve, add_evaluation, build_run
from webapp.comparisons.fields import setting_fields, settings_of
from webapp.comparisons.page import FIRST_METRICS, dashes, metric_names, read_view, short_differences
from webapp.comparisons.selection import MOST_RUNS
from webapp.runs.labels import label
from webapp.runs.models import Alert, MetricName, Run
from webapp.sweeps.models import PlannedRun, Sweep


@pytest.fixture
def browser(client: Client, db: None) -> Client:
    client.force_login(User.objects.create_user("ada"))
    return client


def pair(**other: object) -> list[Run]:
    return [build_run(name="one"), build_run(name="two", config=dict(other))]


def query(text: str) -> QueryDict:
    return QueryDict(text)


@pytest.mark.django_db
def test_the_url_determines_the_view() -> None:
    one, two = pair()
    view = read_view(query(f"runs={two.pk},{one.pk},gone,{one.pk}&metrics=a,b,a&band=std"))
    assert (view.runs, view.selection.missing, view.metrics, view.band) == ([two, one], ["gone"], ["a", "b"], "std")


@pytest.mark.django_db
def test_an_empty_query_gives_the_default_view() -> None:
    run = build_run()
    view = read_view(query(f"runs=,{run.pk},&metrics=,&band=other"))
    assert (view.runs, view.metrics, view.band, view.groups) == ([run], FIRST_METRICS, "ci", [])


@pytest.mark.django_db
def test_a_query_selects_runs_that_are_launched_later_too() -> None:
    build_run(name="calm-otter")
    address = query("q=heron&tag=")
    assert read_view(address).runs == []
    assert "No run matches" in read_view(address).selection.notes[0]
    found = build_run(name="bold-heron")
    label(found, None, tags=["lake"])
    assert read_view(address).runs == [found]
    assert read_view(query("tag=lake&tag=none")).runs == []


@pytest.mark.django_db
def test_named_runs_come_before_those_of_the_query_and_are_not_repeated() -> None:
    old, new = build_run(name="old heron"), build_run(name="new heron")
    other = build_run(name="otter")
    assert read_view(query(f"runs={other.pk},{old.pk}&q=heron")).runs == [other, old, new]


@pytest.mark.django_db
@pytest.mark.parametrize("sweep", ["x", "99", "9" * 30, "²"])
def test_a_sweep_that_there_is_not_selects_nothing(sweep: str) -> None:
    build_run()
    assert read_view(query(f"sweep={sweep}")).runs == []


@pytest.mark.django_db
def test_what_exceeds_the_limit_is_said() -> None:
    for _ in range(MOST_RUNS + 2):
        Run.objects.create(name="heron", config={"environments": []})
    view = read_view(query("q=heron"))
    assert len(view.runs) == MOST_RUNS
    assert view.selection.notes == [f"{MOST_RUNS + 2} runs match the query; the newest {MOST_RUNS} are compared."]


@pytest.mark.django_db
def test_held_out_success_is_among_the_first_charts_once_there_is_any() -> None:
    run = build_run()
    add_evaluation(run, successes=82)
    metrics = read_view(query(f"runs={run.pk}")).metrics
    assert metrics[:2] == ["rollout/success", "eval/FrozenLake/success"]
    assert "eval/FrozenLake/success" in metric_names([run])


@pytest.mark.django_db
def test_runs_of_one_colour_differ_in_the_pattern_of_their_lines() -> None:
    runs = [Run(colour=colour) for colour in (3, 1, 3, 3, 1)]
    assert dashes(runs) == [0, 0, 1, 2, 1]
    assert dashes([Run(colour=1)] * 7) == [0, 1, 2, 3, 4, 5, 0]


@pytest.mark.django_db
def test_runs_that_differ_only_in_seed_form_a_group_with_each_seed_counted_once() -> None:
    other, one, two, again = (build_run(name=name, config=values) for name, values in (
        ("d", {"seed": 1, "optimizer": {"learning_rate": 1e-3}}), ("a", {"seed": 1}),
        ("b", {"seed": 2, "description": "again"}), ("c", {"seed": 1}),
    ))  # fmt: skip
    view = read_view(query(f"runs={other.pk},{one.pk},{two.pk},{again.pk}&group=seeds"))
    assert [(group.name, group.members) for group in view.groups] == [("d", [0]), ("a and 1 more seed", [1, 2])]


@pytest.mark.django_db
def test_a_run_whose_settings_were_changed_is_no_seed_of_the_others() -> None:
    runs = [build_run(config={"seed": seed}) for seed in (1, 2, 3)]
    runs[1].settings_changes = {"loss.kl_coefficient": 0.1}
    runs[1].save()
    view = read_view(query(f"runs={','.join(run.pk for run in runs)}&group=seeds"))
    assert [group.members for group in view.groups] == [[0, 2], [1]]


@pytest.mark.django_db
def test_groups_by_a_setting_are_in_the_order_of_its_numbers() -> None:
    rates = (1e-3, 2e-4, 1e-3)
    runs = [build_run(config={"optimizer": {"learning_rate": rate}}) for rate in rates]
    view = read_view(query(f"runs={','.join(run.pk for run in runs)}&group=optimizer.learning_rate"))
    assert [(group.name, group.members) for group in view.groups] == [
        ("learning_rate 0.0002", [1]), ("learning_rate 0.001", [0, 2]),
    ]  # fmt: skip
    assert [group.colour for group in view.groups] == [1, 2]


@pytest.mark.django_db
def test_groups_by_tag_put_the_untagged_runs_together() -> None:
    one, two, three = (build_run(name=name) for name in "abc")
    label(two, None, tags=["lake"])
    view = read_view(query(f"runs={one.pk},{two.pk},{three.pk}&group=tag"))
    assert [(group.name, group.members) for group in view.groups] == [("tags none", [0, 2]), ("tags lake", [1])]


@pytest.mark.django_db
def test_runs_of_a_sweep_are_selected_by_it_and_grouped_by_an_axis_of_named_settings() -> None:
    runs = [build_run(name=name) for name in "abc"]
    plan = SweepPlan.model_validate({"axes": [], "seeds": [1]}).model_dump(mode="json")
    sweep = Sweep.objects.create(name="filters", config=runs[0].config, plan=plan)
    for order, (run, label_text) in enumerate(zip(runs, ("on", "off", "on"), strict=True)):
        PlannedRun.objects.create(
            sweep=sweep, order=order, point_key=str(order), labels={"filter": label_text}, changes={}, seed=1, run=run
        )
    other = build_run(name="another")
    view = read_view(query(f"runs={other.pk}&sweep={sweep.pk}&group=axis:filter"))
    assert {run.name for run in view.runs} == {"a", "b", "c", "another"}
    assert {group.name: len(group.members) for group in view.groups} == {
        "filter none": 1, "filter on": 2, "filter off": 1,
    }  # fmt: skip


def test_groups_have_the_mean_of_their_last_values_with_the_band(browser: Client) -> None:
    runs = [build_run(config={"seed": seed}) for seed in (1, 2, 3)]
    for run, last in zip(runs, (0.1, 0.2, 0.6), strict=True):
        MetricName.objects.create(run=run, name="rollout/success", last=last, lowest=0.0, highest=1.0)
    address = f"/compare/?runs={','.join(run.pk for run in runs)}&metrics=rollout/success,no/such&group=seeds"
    ((_, (success, nothing)),) = browser.get(address).context["group_rows"]
    # mean 0.3, std √((0.04 + 0.01 + 0.09) / 2) = 0.26458, reach 4.30265 · 0.26458 / √3 = 0.65724
    assert (success.mean, success.band, success.count) == ("0.3", "-0.3572 to 0.9572", 3)
    assert (nothing.mean, nothing.count) == ("", 0)
    ((_, (success, _)),) = browser.get(f"{address}&band=minmax").context["group_rows"]
    assert success.band == "0.1 to 0.6"


@pytest.mark.django_db
def test_a_field_that_does_not_differ_is_said_and_groups_nothing() -> None:
    one, two = pair()
    view = read_view(query(f"runs={one.pk},{two.pk}&group=no.such"))
    assert view.groups == []
    assert "no.such" in view.selection.notes[0]


@pytest.mark.django_db
def test_metrics_that_only_some_steps_report_are_offered() -> None:
    run = build_run()
    MetricName.objects.create(run=run, name="collapse/mi_ratio")
    assert "collapse/mi_ratio" in metric_names([run])


@pytest.mark.django_db
def test_differing_settings_are_one_label_per_run() -> None:
    runs = pair(optimizer={"learning_rate": 1e-3}, preset="Mine")
    found = short_differences(setting_fields(settings_of(runs)), 2)
    assert found == ["learning_rate 0.0002", "learning_rate 0.001"]


def test_the_page_shows_differences_first_and_folds_equal_settings(browser: Client) -> None:
    one, two = pair(optimizer={"learning_rate": 1e-3})
    page = browser.get(f"/compare/?runs={one.pk},{two.pk}")
    assert [(row.key, row.values) for row in page.context["differences"].differing] == [
        ("optimizer.learning_rate", ["0.0002", "0.001"])
    ]


def test_without_runs_the_page_offers_a_choice(browser: Client) -> None:
    build_run(name="calm-otter")
    assert "calm-otter" in browser.get("/compare/").content.decode()


def test_an_installation_without_runs_links_to_the_form_of_a_new_run(browser: Client) -> None:
    assert "Nothing to compare yet" in browser.get("/compare/").content.decode()


def test_missing_runs_are_named(browser: Client) -> None:
    assert "Run gone does not exist" in browser.get("/compare/?runs=gone").content.decode()


def test_environment_errors_are_shown_only_if_there_are_any(browser: Client) -> None:
    one, two = pair()
    add_evaluation(one, successes=60)
    add_evaluation(two, successes=60, faults=1)
    page = browser.get(f"/compare/?runs={one.pk},{two.pk}").content.decode()
    assert page.count("fault-note") == 1 and "1 error<" in page


def test_last_and_best_values_and_held_out_results_are_one_table(browser: Client) -> None:
    one, two = pair()
    MetricName.objects.create(run=one, name="rollout/success", last=0.5, lowest=0.2, highest=0.75)
    add_evaluation(one, successes=200, episodes=256, step=20, final=False)
    add_evaluation(one, successes=128, episodes=256, step=60)
    page = browser.get(f"/compare/?runs={one.pk},{two.pk}&metrics=rollout/success,eval/FrozenLake/success")
    (_, _, values), (_, _, nothing) = page.context["final_rows"]
    assert [(value.last, value.best) for value in values] == [("0.5", "0.75"), ("0.500", "0.781")]
    assert values[1].note == "0.439–0.561, final"  # Wilson: 128 of 256
    assert [value.last for value in nothing] == ["", ""]


def test_alerts_of_the_runs_are_side_by_side_with_the_first_step_of_each(browser: Client) -> None:
    one, two = pair()
    for seq, (run, step) in enumerate([(one, 30), (one, 10), (two, 20)], start=1):
        event = AlertRaised(
            seq=seq, attempt=1, step=step, time=1.0, rule="entropy falls", severity="warn", message="<b>low</b>",
            metric="policy/entropy", value=0.1, baseline=1.0,
        )  # fmt: skip
        Alert.of(run, event).save()
    page = browser.get(f"/compare/?runs={one.pk},{two.pk}")
    (row,) = page.context["alerts"]
    assert [(cell.first.step, cell.count) for cell in row.cells] == [(10, 2), (20, 1)]
    assert "<b>low</b>" not in page.content.decode()


def test_alerts_of_a_few_runs_say_their_message_and_runs_without_one_have_no_column(browser: Client) -> None:
    one, two = pair()
    fired(one, "Entropy fell to 0.1.")
    page = browser.get(f"/compare/?runs={one.pk},{two.pk}")
    assert [run.pk for run, _ in page.context["alerted"]] == [one.pk]
    words = " ".join(page.content.decode().split())
    assert '<span class="alert-said">Entropy fell to 0.1.</span>' in words
    assert "No alert has fired in the other run." in words


def test_of_many_runs_with_alerts_the_messages_are_a_click_away(browser: Client) -> None:
    runs = [build_run(config={"seed": seed}) for seed in range(7)]
    for run in runs:
        fired(run, "Entropy fell to 0.1.")
    page = browser.get(f"/compare/?runs={','.join(run.pk for run in runs)}").content.decode()
    assert page.count('title="Entropy fell to 0.1."') == 7
    assert "alert-said" not in page


def fired(run: Run, message: str) -> None:
    event = AlertRaised(
        seq=1, attempt=1, step=30, time=1.0, rule="entropy falls", severity="warn", message=message,
        metric="policy/entropy", value=0.1, baseline=1.0,
    )  # fmt: skip
    Alert.of(run, event).save()


def test_runs_without_alerts_say_so(browser: Client) -> None:
    one, two = pair()
    add_curve(one, steps=2)
    page = " ".join(browser.get(f"/compare/?runs={one.pk},{two.pk}").content.decode().split())
    assert "No alert has fired in these runs." in page
