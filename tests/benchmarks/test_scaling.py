"""The model of a step's time: what it counts, how it is fitted, and its predictions for GPUs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.operations import qwen2
from benchmarks.scaling.__main__ import filled, tables_of
from benchmarks.scaling.fit import costs, held_out_errors, relative_errors
from benchmarks.scaling.hardware import Assumed, Gpu
from benchmarks.scaling.large import LARGE
from benchmarks.scaling.measured import parts_of as measured_parts
from benchmarks.scaling.phases import PARTS, borrowed_numbers, work_of
from benchmarks.scaling.predict import (
    Placement,
    borrowing,
    bottleneck,
    fits,
    sampling,
    step_seconds,
    sync_by_gpu,
    sync_by_host,
    tensor_parallel,
)
from benchmarks.scaling.steps import Step

DOCS = Path(__file__).parents[2] / "docs"
STEP = Step(
    trajectories=12, group_size=4, turns=24, tokens=1200, sampled=400, prompted=240, passes=80, parts=5, samplers=2,
    learners=2,
)  # fmt: skip
SIZES = {
    "hidden_size": 4, "intermediate_size": 6, "num_hidden_layers": 1, "num_attention_heads": 2,
    "num_key_value_heads": 1, "vocab_size": 10, "max_position_embeddings": 8, "tie_word_embeddings": True,
}  # fmt: skip
EVEN = Gpu(name="even", memory=1e9, bandwidth=1e3, half=1e3, single=1e3, link=1e3, network=1e2, host=1e3)
CERTAIN = Assumed(
    learning=1, single=1, reading=1, memory=1, links=1, hop=0, pass_seconds=0, copy=1e3, transport=1e3
)  # fmt: skip


def test_the_busiest_sampler_has_two_groups_of_three_and_the_busiest_learner_three_parts_of_five() -> None:
    assert STEP.sampler_share == pytest.approx(2 / 3)
    assert STEP.rounds == 3 and STEP.learner_share == pytest.approx(3 / 5)
    # of 240 prompted tokens a quarter is read: 1200 - 180
    assert STEP.read == 1020


def test_learners_borrow_only_from_others() -> None:
    shape = qwen2(SIZES)
    # 3 rounds x 3 times x half of all parameters
    assert borrowed_numbers(shape, STEP) == pytest.approx(3 * 3 * shape.parameters / 2)
    assert borrowed_numbers(shape, replace(STEP, learners=1)) == 0


def test_every_part_has_work_that_grows_with_the_step() -> None:
    larger = replace(STEP, turns=48, tokens=2400, sampled=800, passes=160, parts=10)
    for part in set(PARTS) - {"sync", "diagnostics"}:
        before, after = work_of(part, qwen2(SIZES), STEP), work_of(part, qwen2(SIZES), larger)
        assert sum(after) > sum(before)


def test_costs_are_found_again_from_seconds_that_they_make() -> None:
    work = np.array([[1.0, 2.0], [3.0, 1.0], [2.0, 5.0]])
    assert costs(work, work @ [0.5, 0.25]) == pytest.approx([0.5, 0.25])


def test_a_cost_is_never_negative() -> None:
    # through (1, 1): 2 and (1, 3): 1 goes 2.5 - 0.5 x. Without the slope, c minimises (c/2 - 1)^2 + (c - 1)^2:
    # c/4 - 1/2 + c - 1 = 0, c = 6/5, with an error of 0.16 + 0.04
    work, seconds = np.array([[1.0, 1.0], [1.0, 3.0]]), np.array([2.0, 1.0])
    found = costs(work, seconds)
    assert found == pytest.approx([1.2, 0])
    assert relative_errors(found, work, seconds) == pytest.approx([-0.4, 0.2])


def test_held_out_points_are_predicted_from_the_others_alone() -> None:
    # b is 3 a unit and the others 2: predicted 2 of 3; without one of a, the best of 2 and 3 is
    # c/2 - 1 and c/3 - 1 squared: c (1/4 + 1/9) = 1/2 + 1/3, c = 30/13, predicted 15/13 of what it is
    errors = held_out_errors(np.array([[1.0], [1.0]]), np.array([2.0, 3.0]), ["a", "b"])
    assert errors == pytest.approx([0.5, -1 / 3])
    errors = held_out_errors(np.array([[1.0], [1.0], [1.0]]), np.array([2.0, 2.0, 3.0]), ["a", "c", "b"])
    assert errors == pytest.approx([2 / 13, 2 / 13, -1 / 3])


def test_a_measured_sync_is_the_learners_and_then_the_samplers_work() -> None:
    one = {"driver": 1.0, "sampler": 2.0, "learner": 4.0}
    phases = ("environment", "sampling", "collation", "scoring", "learning", "sync", "diagnostics", "capture")
    found = measured_parts({**dict.fromkeys(phases, one), "indexing": one}, STEP)
    # the driver's: collation and five phases
    assert found["sync"] == 6 and found["driver"] == 6 and found["learning"] == 4
    assert found["environment"] == pytest.approx(2 / 3)


def placement(**changes: int) -> Placement:
    counts = {"samplers": 1, "learners": 1, "tensor_parallel": 1, "trajectories": 16, "micro_batch": 2000, **changes}
    return Placement(shape=qwen2(SIZES), gpu=EVEN, assumed=CERTAIN, **counts)


def test_a_pass_of_a_sampler_reads_the_weights_and_the_cache() -> None:
    found = placement()
    # given: 16 x 2000 tokens less 15 of 16 prompts of 150 less 16 x 1250 sampled = 9,750, of 2 x 120 + 4 x 1000 x 4
    prompts = 9750 * (240 + 16000) / 1000
    # a pass computes more than it reads: 16 x (240 + 16000 + 2 x 4 x 10)
    each = 16 * (240 + 16000 + 80) / 1000
    assert sampling(found) == pytest.approx(prompts + 1250 * each)


def test_more_rows_than_a_sampler_decodes_at_once_come_in_waves() -> None:
    waves = [sampling(placement(trajectories=rows)) / rows for rows in (256, 512)]
    assert waves[0] == pytest.approx(waves[1])


def test_weights_are_borrowed_over_the_slower_of_link_and_network() -> None:
    size = 4 * qwen2(SIZES).parameters
    assert borrowing(placement(learners=1)) == 0
    assert borrowing(placement(learners=8)) == pytest.approx(size * 7 / 8 / 1000)
    # eight cards of 100 feed a machine: 800 is less than its links' 1000
    assert borrowing(placement(learners=16)) == pytest.approx(size * 15 / 16 / 800)


def test_weights_reach_samplers_by_memory_and_sockets_or_by_one_card() -> None:
    size = 4 * qwen2(SIZES).parameters
    # twice between GPU and memory, three copies, one hop to one machine
    assert sync_by_host(placement()) == pytest.approx((2 + 3 + 1) * size / 1000)
    # three machines: two hops
    assert sync_by_host(placement(samplers=24)) == pytest.approx((2 + 3 + 2) * size / 1000)
    assert sync_by_gpu(placement()) == pytest.approx(size / 100)


def test_a_step_waits_for_the_slower_side_and_for_the_sync() -> None:
    parts = {"sampling": 5.0, "environment": 1.0, "learning": 4.0, "driver": 1.0, "sync": 2.0}
    assert step_seconds(parts) == 8
    # without sampling 5 + 2, without the sync 6, without learning still 8
    assert bottleneck(parts) == "sync"
    assert bottleneck({**parts, "learning": 40.0}) == "learning"


def test_large_shapes_have_their_models_parameters_and_as_many_gpus_as_they_need() -> None:
    # their cards say 0.49, 7.61 and 72.7 billion
    sizes = {name: round(qwen2(shape).parameters / 1e9, 2) for name, shape in LARGE.items()}
    assert sizes == {"0.5B": 0.49, "7B": 7.62, "72B": 72.71}
    gpu = replace(EVEN, memory=80e9)
    # two bytes each, in at most 0.6 of 0.85 x 80 GB: 1 of 40.8, 15.2 of 40.8, 145.4 / 4 of 40.8
    assert [tensor_parallel(qwen2(shape), gpu, Assumed()) for shape in LARGE.values()] == [1, 1, 4]


def test_a_model_that_no_learner_has_room_for_is_said_to_be_so() -> None:
    huge = replace(placement(), shape=qwen2(LARGE["72B"]), gpu=replace(EVEN, memory=80e9), assumed=Assumed())
    # weights, gradients and moments: 16 bytes for each of 72.7 billion, 1,163 GB; and what a forward pass saves
    assert fits(huge) == "needs 1,174 GB"
    assert fits(replace(huge, learners=48)) == ""


@pytest.mark.slow
def test_the_page_has_the_tables_that_the_measurements_give() -> None:
    text, found = (DOCS / "scaling.md").read_text(), tables_of(DOCS)
    assert filled(text, found) == text
    assert all(f"<!-- {name} -->" in text for name in found)
