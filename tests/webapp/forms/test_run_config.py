"""The run form is generated from the engine's config: every field is present, and every value survives the round
trip."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from engine.config import RunConfig
from engine.section import section_class, variants_of
from webapp.forms.fields import FormField, Node, Variants
from webapp.forms.run_config import ELSEWHERE, fill, flatten, nested, sections, unseen
from webapp.launching.presets import run_presets


def shown() -> dict[str, FormField]:
    return {one.name: one for section in sections() for one in section.fields}


def inputs(nodes: list[Node]) -> Iterator[FormField]:
    """All inputs, including those of variants that are not selected."""
    for node in nodes:
        if isinstance(node, Variants):
            yield node.choice
            for variant in node.variants:
                yield from inputs(variant.nodes)
        else:
            yield node


ALL = [one for section in sections() for one in inputs(section.nodes)]


def paths_of(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, info in model.model_fields.items():
        if variants := variants_of(info):
            for variant in variants.values():
                yield from paths_of(variant, f"{prefix}{name}.")
        elif section := section_class(info):
            yield from paths_of(section, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def test_every_field_of_a_run_is_in_the_form() -> None:
    assert {one.name for one in ALL} == set(paths_of(RunConfig)) - ELSEWHERE


def test_every_field_has_a_help_text() -> None:
    assert [one.name for one in ALL if not one.help] == []


def test_no_two_inputs_share_an_id() -> None:
    ids = [one.id_for_label for one in ALL]
    assert len(ids) == len(set(ids))


def test_bounds_and_choices_come_from_the_config() -> None:
    groups, learning_rate = shown()["rollout.groups"], shown()["optimizer.learning_rate"]
    assert (groups.kind, groups.low, groups.step) == ("int", 1, "1")
    assert (learning_rate.kind, learning_rate.low, learning_rate.step) == ("float", 0, "any")
    assert "ppo" in shown()["algorithm.type"].options


def test_only_the_fields_of_the_chosen_variants_are_shown() -> None:
    assert not {"algorithm.lam", "algorithm.critic.learning_rate", "filter.value"} & shown().keys()
    form = fill(sections(), {"algorithm.type": "ppo", "filter.type": "top_p"}, {}, {})
    names = {one.name for section in form for one in section.fields}
    assert {"algorithm.lam", "algorithm.critic.learning_rate", "filter.value"} <= names


def test_a_posted_form_has_only_the_fields_of_the_chosen_variants() -> None:
    texts = {"algorithm.type": "remax", "algorithm.gamma": "0.9", "filter.type": "top_k_absolute", "filter.value": "3"}
    data = nested(texts)
    assert data["algorithm"] == {"type": "remax", "soft_reweighting": False, "length_weighting": False}
    assert data["filter"]["value"] == "3"


def test_a_field_of_two_variants_keeps_its_value_only_in_the_chosen_one() -> None:
    form = fill(sections(), {"filter.type": "top_p", "filter.value": "0.3"}, {}, {})
    [node] = next(section for section in form if section.key == "filter").nodes
    assert isinstance(node, Variants)
    values = {
        variant.type: one.value
        for variant in node.variants
        for one in inputs(variant.nodes)
        if one.name == "filter.value"
    }
    assert values == {"top_p": "0.3", "top_k": "0.25", "top_k_absolute": "8", "min_p": "0.5"}


def test_a_type_chosen_without_its_fields_shown_is_not_accepted_at_once() -> None:
    texts = {"algorithm.type": "ppo", "filter.type": "none"}
    assert list(unseen(texts, ["algorithm=grpo", "algorithm.credit=trajectory"])) == ["algorithm.type"]
    assert unseen(texts, ["algorithm=ppo"]) == {}
    turn = {"algorithm.type": "grpo", "algorithm.credit.type": "turn"}
    assert list(unseen(turn, ["algorithm=grpo", "algorithm.credit=trajectory"])) == ["algorithm.credit.type"]
    assert unseen(texts, []) == {}  # a client other than a browser posts only the fields it sets


def as_posted(preset: str) -> dict[str, str]:
    """A preset's values as a browser posts them: unticked boxes are not sent."""
    values = flatten(run_presets()[preset].config().model_dump(mode="json"))
    boxes = {one.name for one in ALL if one.kind == "bool"}
    return {name: text for name, text in values.items() if not (name in boxes and text == "false")}


@pytest.mark.parametrize("preset", run_presets())
def test_a_preset_goes_through_the_form_unchanged(preset: str) -> None:
    config = run_presets()[preset].config()
    kept = config.model_dump(mode="json", include=set(ELSEWHERE))
    assert RunConfig.model_validate({**nested(as_posted(preset)), **kept}) == config


def test_differences_from_the_preset_are_marked() -> None:
    base = flatten(run_presets()["starter"].config().model_dump(mode="json"))
    form = fill(sections(), {**base, "rollout.group_size": "5"}, base, {})
    assert [one.name for section in form for one in section.fields if one.changed] == ["rollout.group_size"]


def test_an_invalid_value_stays_in_its_field_with_its_error() -> None:
    form = fill(sections(), {"rollout.groups": "many"}, {}, {"rollout.groups": "Give a whole number."})
    groups = next(one for section in form for one in section.fields if one.name == "rollout.groups")
    assert (groups.value, groups.error) == ("many", "Give a whole number.")
