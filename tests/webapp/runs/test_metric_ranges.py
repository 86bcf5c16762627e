"""The last, lowest and highest value of each metric, as steps arrive and are taken back."""

from __future__ import annotations

import math

import pytest

from tests.webapp.runs.rows import a_run
from webapp.runs.metric_ranges import Range, extended, measure_again, ranges_of, save_ranges
from webapp.runs.models import StepMetrics

pytestmark = pytest.mark.django_db


def test_ranges_grow_and_the_last_value_is_that_of_the_newest_step_that_has_it() -> None:
    run = a_run()
    save_ranges(run, extended({}, [{"a": 0.5, "b": 3.0}, {"a": 0.9}, {"a": 0.7}]))
    assert ranges_of(run) == {"a": Range(0.7, 0.5, 0.9), "b": Range(3.0, 3.0, 3.0)}
    save_ranges(run, extended(ranges_of(run), [{"a": 0.1}]))
    assert ranges_of(run) == {"a": Range(0.1, 0.1, 0.9), "b": Range(3.0, 3.0, 3.0)}


def test_values_that_are_no_numbers_do_not_count_but_the_name_is_stored() -> None:
    run = a_run()
    save_ranges(run, extended({}, [{"a": math.nan, "b": math.inf, "c": None}]), ["a", "b", "c"])
    assert ranges_of(run) == {}
    assert sorted(run.metric_names.values_list("name", flat=True)) == ["a", "b", "c"]


def test_steps_that_no_longer_count_are_forgotten() -> None:
    run = a_run()
    values = {"seq": 1, "time": 0.0, "tokens": 0, "seconds": 0.0}
    for step, value in enumerate((0.2, 0.4, 0.95), start=1):
        StepMetrics.objects.create(run=run, step=step, metrics={"a": value}, **values)
    assert measure_again(run) == {"a": Range(0.95, 0.2, 0.95)}
    run.steps.filter(step=3).delete()
    measure_again(run)
    assert ranges_of(run) == {"a": Range(0.4, 0.2, 0.4)}
