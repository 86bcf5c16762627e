"""What would make a run fit: every change that is named fits by the plan, and only if it does."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.gpu.models import QWEN25_HALF_BILLION
from benchmarks.operations import qwen2
from engine.cluster.alternatives import Need, alternatives, what_would_fit
from engine.cluster.local_memory import estimate_local
from engine.config import RunConfig, build_config, set_field

GIB = 1024**3
SHAPE = qwen2(QWEN25_HALF_BILLION)


def run(**sections: Any) -> RunConfig:
    return build_config({"model": {"path": "Qwen/Qwen2.5-0.5B-Instruct"}, **sections})


def need(config: RunConfig) -> Need:
    memory = estimate_local(config, SHAPE, gpu=True)
    return Need(certain=memory.certain, total=memory.total)


@pytest.mark.parametrize("room", [10, 12, 16, 24, 32])
def test_every_alternative_fits_by_the_plan(room: int) -> None:
    for one in alternatives(run(), room * GIB, need, gpu=True):
        data = run().model_dump(mode="json")
        for name, value in one.changes.items():
            set_field(data, name, value)
        assert need(build_config(data)).total == one.needs <= room * GIB


def test_a_single_change_is_preferred_and_each_field_is_named_once_with_the_smallest_change() -> None:
    # 16,384 tokens at once take 26 GiB of activations: recomputing them is enough, and so are a quarter of the tokens
    found = [one.changes for one in alternatives(run(), 20 * GIB, need, gpu=True)]
    assert {"optimizer.gradient_checkpointing": True} in found
    assert {"optimizer.micro_batch_tokens": 4096} in found
    assert {"optimizer.micro_batch_tokens": 2048} not in found


@pytest.mark.parametrize(
    ("installed", "field", "other"),
    [(False, "model.lora.rank", "optimizer.moments"), (True, "optimizer.moments", "model.lora.rank")],
)
def test_changes_add_up_where_none_alone_is_enough(
    monkeypatch: pytest.MonkeyPatch, installed: bool, field: str, other: str
) -> None:
    """Weights, gradients and moments of 0.49 billion parameters are 7.4 GiB: too much beside activations. So an adapter
    has to be trained, or the moments, 3.7 of the 7.4, take a quarter of that where bitsandbytes is installed."""
    monkeypatch.setattr("engine.cluster.alternatives.eight_bits_installed", lambda: installed)
    (found,) = alternatives(run(), 8 * GIB, need, gpu=True)
    assert found.enough
    assert field in found.changes and other not in found.changes
    for name in found.changes:  # each of them is needed
        data = run().model_dump(mode="json")
        for kept, value in found.changes.items():
            if kept != name:
                set_field(data, kept, value)
        assert need(build_config(data)).total > 8 * GIB


def test_moments_in_8_bits_are_proposed_to_one_learner_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.cluster.alternatives.eight_bits_installed", lambda: True)

    def by_moments(config: RunConfig) -> Need:
        return Need(certain=0, total=10 if config.optimizer.moments == "8bit" else 100)

    (one,) = alternatives(run(backend="ray"), 30, by_moments, gpu=True)
    assert one.changes == {"optimizer.moments": "8bit"}
    assert alternatives(run(backend="ray", cluster={"learners": 2}), 30, by_moments, gpu=True) == []


@pytest.mark.parametrize(("gpu", "fewer"), [(False, {1024}), (True, {1024, 2048, 4096, 8192})])
def test_only_fewer_tokens_at_once_than_the_device_s_default_are_tried(gpu: bool, fewer: set[int]) -> None:
    """2,048 on a CPU and 16,384 on a GPU."""
    tried: set[int] = set()

    def never_enough(config: RunConfig) -> Need:
        tried.add(config.optimizer.micro_batch_tokens)
        return Need(certain=100, total=100)

    assert alternatives(run(), 10, never_enough, gpu=gpu) == []
    assert tried == {0} | fewer


def test_nothing_is_named_where_nothing_is_enough() -> None:
    assert alternatives(run(), GIB, need, gpu=True) == []
    assert what_would_fit([]).startswith("No change of its settings makes it fit")


def test_what_the_run_has_already_is_not_proposed() -> None:
    config = run(optimizer={"gradient_checkpointing": True}, model={"path": "x/y-0.5B", "lora": {"rank": 8}})
    for one in alternatives(config, 4 * GIB, need, gpu=True):
        assert not {"optimizer.gradient_checkpointing", "model.lora.rank"} & one.changes.keys()


def test_more_learners_are_proposed_with_as_many_samplers_where_they_share_gpus() -> None:
    def too_few(config: RunConfig) -> Need:
        return Need(certain=0, total=100 // config.cluster.learners)

    colocated = run(backend="ray", cluster={"placement": "colocated"})
    found = alternatives(colocated, 30, too_few, gpu=True)
    assert [one.changes for one in found] == [{"cluster.learners": 4, "cluster.samplers": 4}]
    assert str(found[0]) == "cluster.learners=4, cluster.samplers=4: 25 bytes"


def test_a_configuration_that_cannot_run_for_another_reason_is_not_proposed() -> None:
    found = alternatives(run(), 0, lambda config: None, gpu=True)
    assert found == []
