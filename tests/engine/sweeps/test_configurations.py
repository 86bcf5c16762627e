"""The configuration of every point, why some cannot run, and the sweeps that ship."""

from __future__ import annotations

from typing import Any

import pytest

from engine.config import RunConfig
from engine.metrics import describe
from engine.sweeps.catalogue import sweep_presets
from engine.sweeps.configurations import Configurations, configurations_of
from engine.sweeps.plan import SweepPlan
from engine.sweeps.points import points_of

BASE = RunConfig().model_dump(mode="json")


def made(*axes: dict[str, Any]) -> Configurations:
    return configurations_of(BASE, points_of(SweepPlan.model_validate({"axes": axes}), BASE))


def values(field: str, *given: Any) -> dict[str, Any]:
    return {"type": "values", "field": field, "values": list(given)}


def test_each_point_changes_the_base_and_nothing_else() -> None:
    found = made(values("loss.kl_coefficient", 0.0, 0.5), values("environments.0.max_turns", 3)).found
    expected = RunConfig.model_validate(BASE)
    assert [config.loss.kl_coefficient for _, config in found] == [0.0, 0.5]
    assert [config.environments[0].max_turns for _, config in found] == [3, 3]
    assert found[0][1].optimizer == expected.optimizer


def test_a_type_is_set_before_its_fields_whatever_their_order() -> None:
    setting = {"label": "0.5", "changes": {"filter.value": 0.5, "filter.type": "top_p"}}
    found = made({"type": "settings", "name": "Filter", "settings": [setting]}).found
    assert found[0][1].filter.model_dump()["value"] == 0.5


def test_a_refusal_names_the_axis_its_value_and_the_reason_once() -> None:
    refused = made(values("loss.clip_low", 0.2, -1.0), values("steps", 5, 6))
    assert refused.problems == ["loss.clip_low = -1: must be greater than 0, got -1.0"]
    assert len(refused.found) == 2 and len(refused.refusals) == 2


def test_a_value_inside_settings_is_refused_under_the_name_of_the_axis() -> None:
    settings = [{"label": "high", "changes": {"loss.clip_low": 3.0}}]
    refused = made({"type": "settings", "name": "Clip", "settings": settings})
    assert refused.problems == ["Clip = high: loss.clip_low: must be 1 or less, got 3.0"]


def test_a_rule_between_fields_is_refused_with_the_whole_point() -> None:
    refused = made(values("rollout.groups", 1), values("rollout.group_size", 2))
    assert refused.problems == []
    refused = made(values("rollout.group_size", 1), values("steps", 7))
    assert refused.problems == [
        "rollout.group_size = 1: grpo compares the members of a group, and a group of 1 has nothing to compare. "
        "Use 2 or more, or another algorithm, such as ppo."
    ]


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ("loss.no_such_thing", "loss.no_such_thing = 1: unknown field"),
        ("nowhere.at.all", "unknown field"),
        ("steps.more", "There is no field 'steps.more'"),
        ("environments.7.max_turns", "There is no field 'environments.7.max_turns'"),
        ("environments.first.max_turns", "There is no field"),
    ],
)
def test_a_field_that_does_not_exist_is_refused(field: str, reason: str) -> None:
    refused = made(values(field, 1))
    assert refused.found == [] and reason in refused.problems[0]


def test_points_that_come_to_the_same_configuration_run_once() -> None:
    settings = [
        {"label": "base", "changes": {}},
        {"label": "the same", "changes": {"loss.kl_coefficient": BASE["loss"]["kl_coefficient"]}},
    ]
    found = made({"type": "settings", "name": "KL", "settings": settings})
    assert [point.labels["KL"] for point, _ in found.found] == ["base"]
    assert [(point.text, same.text) for point, same in found.duplicates] == [("KL = the same", "KL = base")]


@pytest.mark.parametrize("key", sweep_presets())
def test_every_sweep_that_ships_has_only_valid_configurations_and_names_its_source(key: str) -> None:
    preset = sweep_presets()[key]
    base = preset.base_config().model_dump(mode="json")
    found = configurations_of(base, points_of(preset.plan, base))
    assert found.problems == [] and found.duplicates == []
    if preset.group == "papers":
        assert len(found.found) >= 3
        assert "arXiv" in preset.source and "Here:" in preset.source
    assert preset.description.endswith("?")
    assert preset.size == "full" or preset.notes


@pytest.mark.parametrize("key", sweep_presets())
def test_curves_of_sweeps_that_ship_are_metrics_of_the_glossary(key: str) -> None:
    preset = sweep_presets()[key]
    assert [name for name in (*preset.curves, *preset.means) if "no entry" in describe(name).meaning] == []


def test_another_kind_of_environment_brings_its_own_instruction_and_budgets() -> None:
    settings = [{"label": "bandit", "changes": {"environments.0.max_turns": 1, "environments.0.kind": "bandit"}}]
    [(_, config)] = made({"type": "settings", "name": "Environment", "settings": settings}).found
    [environment] = config.environments
    assert (environment.tag, environment.max_turns) == ("Bandit", 1)
    assert "lake" not in environment.instruction.lower()
