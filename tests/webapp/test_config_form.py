"""The form of a run is read off the engine's config: nothing of it is missing, and nothing is lost on the way back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from engine.config import RunConfig
from webapp.config_form import ELSEWHERE, ConfigField, fill, flatten, nested, sections
from webapp.launching.presets import run_presets


def fields() -> dict[str, ConfigField]:
    return {one.name: one for section in sections() for one in section.fields}


def paths_of(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, info in model.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield from paths_of(info.annotation, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def test_every_field_of_a_run_is_in_the_form() -> None:
    assert set(fields()) == set(paths_of(RunConfig)) - ELSEWHERE


def test_every_field_has_help() -> None:
    assert [name for name, one in fields().items() if not one.help] == []


def test_bounds_and_choices_come_from_the_config() -> None:
    groups, learning_rate = fields()["rollout.groups"], fields()["optimizer.learning_rate"]
    assert (groups.kind, groups.low, groups.step) == ("int", 1, "1")
    assert (learning_rate.kind, learning_rate.low, learning_rate.step) == ("float", 0, "any")
    assert "gae" in fields()["algorithm.estimator"].choices


def as_posted(preset: str) -> dict[str, str]:
    """A preset's values as a browser posts them: a box that is not ticked is not sent at all."""
    values = flatten(run_presets()[preset].config().model_dump(mode="json"))
    boxes = {name for name, one in fields().items() if one.kind == "bool"}
    return {name: text for name, text in values.items() if not (name in boxes and text == "false")}


@pytest.mark.parametrize("preset", run_presets())
def test_a_preset_passes_through_the_form_unchanged(preset: str) -> None:
    config = run_presets()[preset].config()
    kept = config.model_dump(mode="json", include=set(ELSEWHERE))
    assert RunConfig.model_validate({**nested(as_posted(preset)), **kept}) == config


def test_what_differs_from_the_preset_is_marked() -> None:
    base = flatten(run_presets()["starter"].config().model_dump(mode="json"))
    form = fill(sections(), {**base, "rollout.group_size": "5"}, base, {})
    assert [one.name for section in form for one in section.fields if one.changed] == ["rollout.group_size"]


def test_a_wrong_value_stays_in_its_field_beside_its_error() -> None:
    form = fill(sections(), {"rollout.groups": "many"}, {}, {"rollout.groups": "Give a whole number."})
    groups = next(one for section in form for one in section.fields if one.name == "rollout.groups")
    assert (groups.value, groups.error) == ("many", "Give a whole number.")
