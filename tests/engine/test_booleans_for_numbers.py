"""`true` in the place of a number is refused at its field, not taken for 1: in every section, list and environment."""

from __future__ import annotations

from typing import Any

import pytest

from engine.config import RunConfig, build_config
from engine.errors import ConfigError
from engine.section import Section


@pytest.mark.parametrize(
    ("data", "field", "says"),
    [
        ({"steps": True}, "steps", "must be a whole number, got True"),
        ({"rollout": {"groups": True}}, "rollout.groups", "must be a whole number, got True"),
        ({"loss": {"kl_coefficient": False}}, "loss.kl_coefficient", "must be a number, got False"),
        ({"evaluation": {"temperature": True}}, "evaluation.temperature", "must be a number, got True"),
        ({"environments": [{"kind": "frozen_lake", "parameters": {"size": True}}]}, "size", "must be a whole number"),
    ],
)
def test_a_boolean_for_a_number_is_refused_at_its_field(data: dict[str, Any], field: str, says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        build_config(data)
    assert field in str(refused.value) and says in str(refused.value)


def test_one_in_a_list_of_numbers_is_refused_and_switches_stay() -> None:
    class Part(Section):
        numbers: tuple[float, ...] | None = None
        by_name: dict[str, int] = {}
        switch: bool | float = False
        anything: dict[str, Any] = {}

    for wrong in ({"numbers": [0.5, True]}, {"by_name": {"a": True}}):
        with pytest.raises(ValueError, match=r"(numbers|by_name): must be a (whole )?number, got"):
            Part.model_validate(wrong)
    given = {"numbers": [0.5, 1], "by_name": {"a": 1}, "switch": True, "anything": {"a": True}}
    assert Part.model_validate(given).model_dump() == {**given, "numbers": (0.5, 1.0)}


def test_a_configuration_with_all_defaults_is_read_again() -> None:
    config = build_config({})
    assert RunConfig.model_validate(config.model_dump()) == config
    assert RunConfig.model_validate_json(config.model_dump_json()) == config
