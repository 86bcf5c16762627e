"""The form of a sweep, the list, and the page of one with its effects."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict
from django.test import Client
from django.utils import timezone

from engine.config import RunConfig
from engine.sweeps.catalogue import sweep_presets
from tests.webapp.sweeps.sweeping import BASE, KL, a_sweep, end, finish, queued
from webapp.comparisons.page import read_view
from webapp.environments.models import EnvironmentVersion
from webapp.runs.models import Run
from webapp.runs.services import submit_run
from webapp.runs.states import RunState
from webapp.sweeps.axis_rows import row_of, settings_of, values_of
from webapp.sweeps.models import Sweep, SweepState
from webapp.sweeps.texts import compared

pytestmark = pytest.mark.django_db


def form(*axes: dict[str, str], **more: str) -> dict[str, Any]:
    """As a browser posts it: each row of an axis has all inputs."""
    empty = {"field": "", "type": "values", "values": "", "low": "", "high": "", "scale": "linear", "count": "5"}
    rows = [{**empty, **axis} for axis in [*axes, {}]]
    columns = {f"axis-{part}": [row[part] for row in rows] for part in empty}
    texts = {
        "base": BASE.model_dump_json(), "preset": "Starter", "name": "mine", "method": "grid", "points": "4",
        "sweep_seed": "1", "seeds": "1-2", "at_once": "1", "retries": "1", "priority": "0",
    }  # fmt: skip
    return {**columns, **texts, **more}


KL_ROW = {"field": "loss.kl_coefficient", "values": "0, 0.1"}


def text_of(answer: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.content.decode()))


def test_the_form_launches_a_grid_over_values_and_settings(browser: Client, user: User) -> None:
    lines = "none: filter.type = none\n0.9: filter.type = top_p; filter.value = 0.9"
    settings = {"field": "Filter", "type": "settings", "values": lines}
    answer = browser.post("/sweeps/new/", form(KL_ROW, settings))
    sweep = Sweep.objects.get()
    assert answer.status_code == 302 and answer["Location"] == f"/sweeps/{sweep.pk}/"
    assert (sweep.name, sweep.owner, sweep.planned.count()) == ("mine", user, 8)
    assert Run.objects.get().preset == "Starter"


def test_the_form_launches_draws_from_a_range(browser: Client) -> None:
    rate = {"field": "optimizer.learning_rate", "type": "range", "low": "1e-4", "high": "1e-3", "scale": "log"}
    browser.post("/sweeps/new/", form(rate, method="sobol", points="3", seeds="7"))
    rates = [row.changes["optimizer.learning_rate"] for row in Sweep.objects.get().planned.all()]
    assert len(rates) == 3 and all(1e-4 <= rate <= 1e-3 for rate in rates)


def test_many_runs_are_launched_only_with_their_number(browser: Client) -> None:
    many = {"field": "steps", "values": ", ".join(map(str, range(1, 13)))}
    answer = browser.post("/sweeps/new/", form(many))
    assert answer.status_code == 422 and "Enter 24 to launch that many runs." in text_of(answer)
    assert browser.post("/sweeps/new/", form(many, confirm="23")).status_code == 422
    assert Sweep.objects.count() == 0
    assert browser.post("/sweeps/new/", form(many, confirm="24")).status_code == 302


@pytest.mark.parametrize(
    ("axis", "more", "problem"),
    [
        ({"field": "loss.clip_low", "values": "0.2, -1"}, {}, "loss.clip_low = -1: must be greater than 0, got -1"),
        ({"field": "loss.no", "values": "1"}, {}, "loss.no = 1: unknown field"),
        ({"field": "steps", "values": ""}, {}, "Axis 1, values: must have 1 or more entries, got 0"),
        ({"field": "steps", "values": ", ".join(map(str, range(1, 52)))}, {}, "must have 50 entries or fewer, got 51"),
        ({"field": "", "values": "1"}, {}, "Axis 1, field:"),
        ({"field": "steps", "type": "range", "low": "x", "high": "2"}, {}, "Axis 1, low: must be a number, got"),
        ({"field": "F", "type": "settings", "values": "none"}, {}, "Axis 1: 'none' has no label."),
        ({"field": "F", "type": "settings", "values": "a: steps"}, {}, "Axis 1: 'steps' sets nothing."),
        (KL_ROW, {"seeds": "x"}, "Training seeds: 'x' is not a seed."),
        (KL_ROW, {"at_once": "0"}, "Runs at once: must be a whole number from 1 to 64, got '0'."),
        (KL_ROW, {"method": "magic"}, "Method: must be one of"),
        (KL_ROW, {"base": "{}{"}, "There is no base configuration."),
        (KL_ROW, {"base": '{"steps": 0}'}, "The base configuration cannot be used: steps: must be 1 or more, got 0"),
        (KL_ROW, {"base": "[" * 90_000}, "There is no base configuration."),
    ],
)
def test_a_form_that_cannot_run_says_why_and_launches_nothing(
    browser: Client, axis: dict[str, str], more: dict[str, str], problem: str
) -> None:
    posted = form(axis, **more)
    answer = browser.post("/sweeps/new/", posted)
    shown = text_of(answer).replace("&#x27;", "'").replace("&gt;", ">")
    assert answer.status_code == 422 and problem in shown
    assert problem in text_of(browser.post("/sweeps/check/", posted)).replace("&#x27;", "'")
    assert Sweep.objects.count() == 0 and Run.objects.count() == 0


def test_the_preview_has_every_configuration_and_the_time_by_earlier_runs(browser: Client, user: User) -> None:
    unknown = text_of(browser.post("/sweeps/check/", form(KL_ROW)))
    assert "No earlier run of this environment with this model, so the time is unknown." in unknown
    # 16 x 8 trajectories in 2 s per step: 4 steps are 8 s, and 2 x 2 runs 32 s
    run = submit_run(owner=user, config=RunConfig())
    Run.objects.filter(pk=run.pk).update(step=10, seconds=20.0, state=RunState.FINISHED)
    shown = text_of(browser.post("/sweeps/check/", form(KL_ROW)))
    assert "Configurations 2 Training seeds 1, 2 Runs 4 Steps 16 Trajectories 2,048 Engine time about 32 s" in shown
    assert "From the steps of 1 earlier run of" in shown and "1 0 1, 2 2 0.1 1, 2" in shown
    # it took a minute from start to end: 40 s beside its 20 s of steps, so 48 s for each of the 4
    begun = timezone.now() - timedelta(minutes=1)
    Run.objects.filter(pk=run.pk).update(started_at=begun, finished_at=begun + timedelta(minutes=1))
    assert "Engine time about 3 min Until it is done about 3 min" in text_of(
        browser.post("/sweeps/check/", form(KL_ROW))
    )


@pytest.mark.parametrize(("key", "size"), [(key, one.size) for key, one in sweep_presets().items()])
def test_every_sweep_that_ships_can_be_launched_from_its_form(browser: Client, key: str, size: str) -> None:
    page = browser.get(f"/sweeps/new/?preset={key}")
    # at full size this machine may lack GPUs, and nothing else
    assert page.status_code == 200
    assert [one for one in page.context["draft"].problems if size == "small" or "cluster" not in one] == []
    preset = sweep_presets()[key]
    assert ("arXiv" in text_of(page)) is (preset.group == "papers")
    assert page.context["form"].text().text == preset.text


def test_the_form_of_a_run_hands_its_configuration_over(browser: Client, lake: EnvironmentVersion) -> None:
    posted = {"environment": str(lake.pk), "steps": "7", "seed": "4-5", "name": "mine", "then": "sweep"}
    answer = browser.post("/runs/new/", posted)
    assert answer["Location"] == "/sweeps/new/?from=run" and Run.objects.count() == 0
    begun = browser.get("/sweeps/new/?from=run").context["form"]
    assert (begun.base.steps, begun.version, begun.seeds, begun.name) == (7, lake, "4-5", "mine")


def test_a_run_that_cannot_start_is_not_swept(browser: Client, lake: EnvironmentVersion) -> None:
    answer = browser.post("/runs/new/", {"environment": str(lake.pk), "steps": "0", "then": "sweep"})
    assert answer.status_code == 422 and "steps" in answer.context["errors"]


def test_a_sweep_can_begin_from_another_or_from_a_run(browser: Client, user: User) -> None:
    sweep = a_sweep(user)
    again = browser.get(f"/sweeps/new/?sweep={sweep.pk}").context["form"]
    assert [row.values for row in again.rows] == ["0, 0.1", "5, 6"] and again.seeds == "1, 2"
    cloned = browser.get(f"/sweeps/new/?clone={queued(sweep)[0].pk}").context["form"]
    assert cloned.base == queued(sweep)[0].parsed_config() and cloned.rows == []


def test_presets_are_listed_in_groups_of_which_the_form_opens_the_chosen_one(browser: Client) -> None:
    groups = browser.get("/sweeps/").context["presets"]
    assert [group.title for group in groups] == ["Sweeps of the papers", "Our experiments", "Full size, on GPUs"]
    listed = [key for group in groups for key, _ in group.presets]
    assert sorted(listed) == sorted(sweep_presets())
    opened = browser.get("/sweeps/new/?preset=rare_wins").context["presets"]
    assert [group.title for group in opened if group.holds_chosen] == ["Our experiments"]


def test_a_sweep_shows_its_question_its_notes_as_markdown_and_its_curves(browser: Client, user: User) -> None:
    words = {"description": "How strong?", "notes": "From *none* to <b>", "curves": "rollout/success, policy/entropy"}
    browser.post("/sweeps/new/", form(KL_ROW, **words))
    sweep = Sweep.objects.get()
    assert sweep.curves == ["rollout/success", "policy/entropy"]
    shown = browser.get(f"/sweeps/{sweep.pk}/")
    assert "How strong?" in text_of(shown)
    assert "From <em>none</em> to &lt;b&gt;" in shown.content.decode()
    curves = shown.context["text"].curves
    assert curves.address == f"/compare/?sweep={sweep.pk}&group=seeds&metrics=rollout/success,policy/entropy"
    assert [chart.name for chart in curves.data["charts"]] == ["rollout/success", "policy/entropy"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"curves": "no spaces allowed"}, "Curves: "),
        ({"notes": "x" * 20_001}, "Notes: "),
        ({"curves": "a," * 13}, "Curves: "),
    ],
)
def test_text_that_cannot_be_kept_is_refused_and_not_lost(browser: Client, words: dict[str, str], problem: str) -> None:
    answer = browser.post("/sweeps/new/", form(KL_ROW, **words))
    assert answer.status_code == 422 and problem in text_of(answer)
    assert Sweep.objects.count() == 0
    [(name, value)] = words.items()
    assert getattr(answer.context["form"], name) == value


def finished_sweep(user: User) -> Sweep:
    """KL 0 solves 60 and 70 of 100 with 5 steps, 70 and 80 with 6; KL 0.1 as many less 40."""
    sweep = a_sweep(user, at_once=64)
    finish(
        sweep,
        lambda row: 60 + 10 * (row.seed == 2) + 10 * (row.changes["steps"] == 6)
        - 40 * (row.changes["loss.kl_coefficient"] > 0),
    )  # fmt: skip
    return sweep


def test_the_page_has_the_effect_of_each_axis_and_the_best_configuration(browser: Client, user: User) -> None:
    sweep = finished_sweep(user)
    page = browser.get(f"/sweeps/{sweep.pk}/")
    kl, steps = page.context["charts"]["axes"]
    # over steps and seeds: seed 1 (.6 + .7) / 2, seed 2 (.7 + .8) / 2
    assert [(one["label"], round(one["mean"], 6)) for one in kl["points"]] == [("0", 0.7), ("0.1", 0.3)]
    # standard deviation of .65 and .75 is .070711, over sqrt(2) .05, times t(1) = 12.7062
    assert kl["points"][0]["high"] == pytest.approx(0.7 + 0.05 * 12.7062, abs=1e-4)
    assert [round(one["mean"], 6) for one in steps["points"]] == [0.45, 0.55]
    text = text_of(page)
    assert "8 of 8 runs" in text and "Finished" in text
    assert "0.75 [0.11, 1.00], 2 seeds loss.kl_coefficient 0 steps 6" in text
    assert "highest of 4" in text
    cells = page.context["heat_map"].rows
    assert [(line, [cell["text"] for cell in row]) for line, row in cells] == [
        ("5", ["0.65", "0.25"]), ("6", ["0.75", "0.35"]),
    ]  # fmt: skip


def test_lines_of_its_curves_are_named_by_the_values_on_its_axes(browser: Client, user: User) -> None:
    sweep = a_sweep(user, name="kl")
    finish(sweep)
    runs = Run.objects.filter(planned__sweep=sweep)
    view = read_view(QueryDict(f"sweep={sweep.pk}&group=seeds"))
    assert [group.name for group in view.groups] == ["0, 5", "0, 6", "0.1, 5", "0.1, 6"]
    other = Run.objects.create(name="other", config=sweep.config)
    view = read_view(QueryDict(f"runs={','.join([*runs.values_list('pk', flat=True), other.pk])}&group=seeds"))
    assert "other" in [group.name for group in view.groups] and "0, 5" not in [group.name for group in view.groups]


def test_curves_of_a_sweep_over_one_field_are_grouped_by_its_values_in_their_order(browser: Client, user: User) -> None:
    rates = {"type": "values", "field": "optimizer.learning_rate", "values": [0.001, 0.0001]}
    sweep = a_sweep(user, plan={"axes": [rates]})
    assert "are not grouped" not in text_of(browser.get(f"/sweeps/{sweep.pk}/"))
    finish(sweep)
    assert "are not grouped" not in text_of(browser.get(f"/sweeps/{sweep.pk}/"))
    view = read_view(QueryDict(compared(sweep).partition("?")[2]))
    assert [(group.name, len(group.members)) for group in view.groups] == [
        ("learning_rate 0.0001", 2), ("learning_rate 0.001", 2),
    ]  # fmt: skip


def test_another_measure_and_the_axes_of_the_heat_map_are_in_the_address(browser: Client, user: User) -> None:
    sweep = finished_sweep(user)
    page = browser.get(f"/sweeps/{sweep.pk}/", {"measure": "mean_return", "across": "steps"})
    assert page.context["charts"]["measure"] == "Held-out return"
    assert (page.context["heat_map"].across, page.context["heat_map"].down) == ("steps", "loss.kl_coefficient")


def test_the_part_that_is_refreshed_is_that_of_the_page(browser: Client, user: User) -> None:
    sweep = finished_sweep(user)
    whole = browser.get(f"/sweeps/{sweep.pk}/").content.decode()
    part = browser.get(f"/sweeps/{sweep.pk}/results/").content.decode()
    assert part.partition("</form>")[2].strip() in whole and 'value="resume"' in part


def test_pages_of_a_sweep_without_results_say_so(browser: Client, user: User) -> None:
    sweep = a_sweep(user, plan={"axes": [], "seeds": [1]})
    page = browser.get(f"/sweeps/{sweep.pk}/")
    assert "No run has a final evaluation yet." in text_of(page) and page.context["heat_map"] is None
    drawn = {"type": "range", "field": "optimizer.learning_rate", "low": 1e-4, "high": 1e-3, "scale": "log"}
    other = a_sweep(user, plan={"axes": [drawn, KL], "method": "random", "points": 3})
    end(queued(other)[0], RunState.FINISHED, 50)
    charts = browser.get(f"/sweeps/{other.pk}/").context["charts"]["axes"]
    assert charts[0]["drawn"] and charts[0]["log"] and len(charts[0]["points"]) == 1


def test_buttons_stop_hold_and_resume(browser: Client, user: User) -> None:
    sweep = a_sweep(user)
    control = f"/sweeps/{sweep.pk}/control/"
    browser.post(control, {"action": "hold"})
    assert len(queued(sweep)) == 2 and Sweep.objects.get().state == SweepState.STOPPED
    browser.post(control, {"action": "stop"})
    assert queued(sweep) == []
    assert "8 runs will be queued." in text_of(browser.post(control, {"action": "resume"}, follow=True))
    assert len(queued(sweep)) == 2
    assert browser.post(control, {"action": "explode"}).status_code == 400


def test_limits_are_changed_and_apply_at_once(browser: Client, user: User) -> None:
    sweep = a_sweep(user)
    browser.post(f"/sweeps/{sweep.pk}/limits/", {"at_once": "5", "retries": "3", "priority": "-1000"})
    assert len(queued(sweep)) == 5 and Sweep.objects.get().retries == 3
    refused = browser.post(f"/sweeps/{sweep.pk}/limits/", {"at_once": "-1", "retries": "3"}, follow=True)
    assert "Nothing was changed." in text_of(refused) and Sweep.objects.get().at_once == 5


def test_a_sweep_is_extended_by_seeds_and_values(browser: Client, user: User) -> None:
    sweep = a_sweep(user)
    answer = browser.post(f"/sweeps/{sweep.pk}/extend/", {"seeds": "3", "more-0": "0.5"}, follow=True)
    assert "10 runs added." in text_of(answer) and sweep.planned.count() == 18
    many = browser.post(f"/sweeps/{sweep.pk}/extend/", {"seeds": "4-9"}, follow=True)
    assert "That would be 36 more runs." in text_of(many) and sweep.planned.count() == 18
    browser.post(f"/sweeps/{sweep.pk}/extend/", {"seeds": "4-9", "confirm": "36"})
    assert sweep.planned.count() == 54
    for refused in ({"more-0": "0.5"}, {"more-1": "-3"}, {"seeds": "x"}):
        answer = browser.post(f"/sweeps/{sweep.pk}/extend/", refused, follow=True)
        assert "Nothing was added." in text_of(answer) and sweep.planned.count() == 54


def test_the_list_has_each_sweep_with_its_progress(browser: Client, user: User) -> None:
    assert "No sweeps yet" in text_of(browser.get("/sweeps/"))
    sweep = a_sweep(user)
    first, second = queued(sweep)
    end(first, RunState.FINISHED)
    end(second, RunState.FAILED)
    text = text_of(browser.get("/sweeps/"))
    assert "kl and steps loss.kl_coefficient , steps 2/8" in text


def test_values_of_a_form_are_numbers_truths_or_texts() -> None:
    assert values_of("1, 2e-4\ntrue, null, grpo,, 1 2") == [1, 2e-4, True, None, "grpo", "1 2"]
    assert values_of("[1], {}") == ["[1]", "{}"]


def test_every_axis_becomes_the_row_that_it_came_from() -> None:
    for preset in sweep_presets().values():
        for axis in preset.plan.axes:
            row = row_of(axis)
            given = json.loads(axis.model_dump_json())
            assert {**given, **row.data()} == given
    assert settings_of("base:") == [{"label": "base", "changes": {}}]
