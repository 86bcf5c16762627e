"""Versions of environments: a version that a run has used never changes."""

from __future__ import annotations

import pytest

from engine.config import EnvironmentConfig
from engine.environments import environment_class
from tests.builders.runs import build_run
from webapp.environments import services
from webapp.environments.examples import examples, load_examples
from webapp.environments.models import EnvironmentDefinition, EnvironmentVersion


def harder(version: EnvironmentVersion) -> EnvironmentConfig:
    return EnvironmentConfig.model_validate({**version.config, "parameters": {"size": 5}})


def test_an_unused_version_is_edited_in_place(lake: EnvironmentVersion) -> None:
    edited = services.edit(lake.definition, name="Lake", config=harder(lake))
    assert (edited.pk, edited.number, edited.config["parameters"]) == (lake.pk, 1, {"size": 5})
    assert lake.definition.versions.count() == 1


def test_editing_a_used_version_creates_the_next_one_and_runs_keep_theirs(lake: EnvironmentVersion) -> None:
    run = build_run(version=lake)
    edited = services.edit(lake.definition, name="Lake", config=harder(lake))
    run.refresh_from_db()
    lake.refresh_from_db()
    assert (edited.number, lake.config["parameters"], run.environment_version) == (2, {}, lake)
    assert lake.definition.latest == edited


def test_saving_a_used_version_unchanged_creates_no_new_one(lake: EnvironmentVersion) -> None:
    build_run(version=lake)
    assert services.edit(lake.definition, name="Frozen", config=lake.parsed()) == lake
    assert EnvironmentDefinition.objects.get().name == "Frozen"


def test_saving_defaults_written_out_creates_no_new_version(lake: EnvironmentVersion) -> None:
    """As the form does, which has a field for every parameter."""
    build_run(version=lake)
    every = environment_class("frozen_lake").Config().model_dump(mode="json")
    written = EnvironmentConfig.model_validate({**lake.config, "parameters": every})
    assert services.edit(lake.definition, name="Lake", config=written) == lake


def test_archiving_keeps_the_environment_and_can_be_undone(lake: EnvironmentVersion) -> None:
    services.archive(lake.definition)
    assert EnvironmentDefinition.objects.get().archived_at is not None
    services.unarchive(lake.definition)
    assert EnvironmentDefinition.objects.get().archived_at is None


def test_a_new_version_has_its_first_state_and_scripted_baselines(lake: EnvironmentVersion) -> None:
    random, optimal = lake.facts["baselines"]
    assert lake.facts["drawing"]["type"] == "grid"
    assert (random["player"], optimal["player"], optimal["success"]) == ("random", "scripted", 1.0)
    assert 0 < random["success"] < 0.6


@pytest.mark.django_db
def test_loading_the_examples_again_changes_nothing() -> None:
    assert [definition.name for definition in load_examples()] == list(examples())
    assert load_examples() == []
    assert EnvironmentVersion.objects.count() == len(examples())
