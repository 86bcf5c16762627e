"""JSON columns that are filled in bulk hold exactly what was given, on either database."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.builders.runs import build_run
from webapp.runs.models import StepMetrics

pytestmark = pytest.mark.django_db

VALUES: list[dict[str, Any]] = [
    {"plain": 0.1, "small": 5e-324, "large": 1.5e12, "whole": 2**53 + 1, "negative": -0.0},
    {'a "quoted" name': 1.0, "back\\slash": 2.0, "brace{,}": 3.0, "it's": 4.0, "per % cent %s": 5.0},
    {"ünïcode 数 🧭": 1.0, "line\nbreak\ttab": 2.0, "null": None, "true": True},
    {"nested": {"list": [1, 2.5, None, [], {}], "text": "NULL"}},
    {},
]


def steps(run: Any) -> list[StepMetrics]:
    return [
        StepMetrics(run=run, seq=number, step=number, time=0.0, tokens=0, seconds=0.0, metrics=metrics)
        for number, metrics in enumerate(VALUES)
    ]


def test_values_inserted_in_bulk_are_read_as_they_were() -> None:
    run = build_run()
    StepMetrics.objects.bulk_create(steps(run))
    assert list(run.steps.values_list("metrics", flat=True)) == VALUES


def test_values_replaced_in_bulk_are_read_as_they_were() -> None:
    run = build_run()
    StepMetrics.objects.bulk_create(
        StepMetrics(run=run, seq=9, step=step, time=0.0, tokens=0, seconds=0.0, metrics={"old": 1.0})
        for step in range(len(VALUES))
    )
    StepMetrics.objects.bulk_create(
        steps(run), update_conflicts=True, unique_fields=["run", "step"], update_fields=["metrics"]
    )
    assert list(run.steps.values_list("metrics", flat=True)) == VALUES


def test_a_value_is_found_by_a_key_within_it() -> None:
    run = build_run()
    StepMetrics.objects.bulk_create(steps(run))
    assert run.steps.get(metrics__nested__text="NULL").step == 3


def test_many_rows_are_sent_as_literals_and_not_as_arrays() -> None:
    run = build_run()
    with CaptureQueriesContext(connection) as queries:
        StepMetrics.objects.bulk_create(steps(run))
    inserts = [query["sql"] for query in queries if "INSERT INTO" in query["sql"]]
    assert len(inserts) == 1
    assert "UNNEST" not in inserts[0]
