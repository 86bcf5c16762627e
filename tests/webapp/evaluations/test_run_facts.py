"""Facts are read from configurations, once for each run."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from engine.config import RunConfig
from webapp.evaluations import run_facts
from webapp.evaluations.run_facts import facts_of
from webapp.runs.models import Run

pytestmark = pytest.mark.django_db


def run_with(**changes: object) -> str:
    config = RunConfig.model_validate(changes).model_dump(mode="json")
    return str(Run.objects.create(name="calm-otter", config=config).pk)


def queries_for(*runs: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as queried:
        assert set(facts_of(runs)) == set(runs)
    return len(queried)


def test_facts_come_from_the_configuration() -> None:
    quiet = run_with(rollout={"think": False, "max_context_tokens": 512})
    facts = facts_of([quiet, run_with()])[quiet]
    assert (facts.model, facts.think, facts.context) == ("tiny", "off", "512")
    assert '"frozen_lake"' in facts.environments


def test_each_run_is_read_once() -> None:
    one, two = run_with(), run_with()
    assert [queries_for(one), queries_for(one), queries_for(one, two), queries_for(two, one)] == [1, 0, 1, 0]


def test_runs_beyond_the_cache_are_read_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_facts, "_known", {})
    monkeypatch.setattr(run_facts, "MOST", 1)
    one, two = run_with(), run_with()
    assert [queries_for(one), queries_for(two), queries_for(one, two), queries_for(one)] == [1, 1, 1, 0]
