"""The memory plan against the memory of real updates at the shape of Qwen2.5-0.5B, as it was measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.scaling.memory import CASES, in_parts, whole
from benchmarks.scaling.memory_table import head_table, while_training

FOLDER = Path(__file__).parents[2] / "docs" / "scaling"
MEASURED = [json.loads(line) for line in (FOLDER / "memory.jsonl").read_text().splitlines()]


def test_the_cases_are_every_combination_of_precision_adapter_checkpointing_and_learners() -> None:
    assert len({case.name for case in whole()}) == 2**4
    assert len(CASES) == 2**4 + len(in_parts())


def test_every_case_was_measured() -> None:
    assert {line["case"] for line in MEASURED} == set(CASES)


@pytest.mark.parametrize("found", MEASURED, ids=[line["case"] for line in MEASURED])
def test_the_plan_is_within_a_tenth_of_the_measured_peak(found: dict[str, Any]) -> None:
    assert found["training"] == pytest.approx(while_training(CASES[found["case"]].plan()), rel=0.1)


@pytest.mark.parametrize("model", ["3B", "7B"])
def test_two_more_layers_take_what_the_plan_says(model: str) -> None:
    few, more = (case for case in in_parts() if case.model.startswith(model))
    measured = {line["case"]: line["training"] for line in MEASURED}
    planned = while_training(more.plan()) - while_training(few.plan())
    assert measured[more.name] - measured[few.name] == pytest.approx(planned, rel=0.1)


def test_scores_in_chunks_take_the_same_memory_for_any_number_of_tokens_and_plain_ones_grow(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (FOLDER / "head.jsonl").read_text().splitlines()]
    least, most = lines[0], lines[-1]
    assert most["tokens"] >= 2 * least["tokens"]
    assert most["chunks"]["bytes"] == pytest.approx(least["chunks"]["bytes"], rel=0.02)
    assert most["plain"]["bytes"] > 1.9 * least["plain"]["bytes"]
    assert head_table(FOLDER / "head.jsonl").count("\n") == 1 + len(lines)
