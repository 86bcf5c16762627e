"""How much memory each learner of a cluster has, and how many tokens go through the model at once there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.cluster import ray_backend
from engine.cluster.forward_tokens import with_tokens
from engine.cluster.learner_room import Free, fitting_cluster_size, least_room
from engine.cluster.memory import MemoryEstimate, estimate
from engine.config import RunConfig, build_config
from engine.policies.model_shape import model_shape
from engine.training.forward_size import ForwardSize
from engine.training.session import EXIT_DONE, train
from tests.engine.cluster.runs import events, needs_ray, ray_config


def run(**changes: Any) -> RunConfig:
    return build_config({"backend": "ray", "rollout": {"max_context_tokens": 1024}, **changes})


def plan(config: RunConfig, *, gpu: bool) -> MemoryEstimate:
    return estimate(config, model_shape("tiny"), gpu=gpu)


def on_gpu(bytes: int) -> Free:
    return Free(machine="a", bytes=bytes, gpu=True)


def on_cpu(machine: str, bytes: int) -> Free:
    return Free(machine=machine, bytes=bytes, gpu=False)


def test_the_gpu_with_the_least_free_memory_decides_for_all_learners() -> None:
    config = run(cluster={"learners": 2})
    room = plan(with_tokens(config, 9000), gpu=True).learner.total
    found = fitting_cluster_size(config, None, [on_gpu(2 * room), on_gpu(room)], [])
    assert found is not None
    # a trajectory of 1,024 tokens and 31 steps of 256 are the most up to 9,000
    assert (found.tokens, found.usual, found.room) == (1024 + 31 * 256, 16_384, room)


def test_a_machine_gives_its_samplers_their_part_and_the_learners_equal_parts_of_the_rest() -> None:
    memory = plan(run(), gpu=False)
    memory = replace(
        memory,
        sampler=replace(memory.sampler, weights=10, cache=0, work=0, process=0),
        learner=replace(memory.learner, host=6),
    )
    assert memory.sampler.total == 10
    free = [on_cpu("a", 100), on_cpu("a", 100), on_cpu("b", 50)]
    # on a (100 - 2 x 10 - 6) / 2 = 37, on b 50 - 10 = 40
    assert least_room(free, ["a", "a", "b"], memory) == 37
    assert least_room(free, ["a", "b", "b"], memory) == 30  # on b 50 - 20
    assert least_room([on_cpu("a", 5)], ["a"], memory) == 0


def test_a_sampler_on_the_same_gpu_keeps_its_part_unless_it_sleeps() -> None:
    """Our own sampler keeps its weights and its cache there, a sleeping one of vLLM's a process, taken as 1 GiB."""
    own = run(cluster={"placement": "colocated", "sampler": "torch"})
    memory = plan(own, gpu=True)
    enough = memory.learner.total + memory.sampler.total
    assert fitting_cluster_size(own, None, [on_gpu(enough)], ["a"]) is None
    assert fitting_cluster_size(own, None, [on_gpu(enough - 1)], ["a"]) is not None
    asleep = run(cluster={"placement": "colocated", "sampler": "vllm"})
    enough = plan(asleep, gpu=True).learner.total + 2**30
    assert fitting_cluster_size(asleep, None, [on_gpu(enough)], ["a"]) is None
    assert fitting_cluster_size(asleep, None, [on_gpu(enough - 1)], ["a"]) is not None


def test_learners_that_have_room_take_the_usual_number() -> None:
    config = run()
    need = plan(config, gpu=True).learner.total
    assert fitting_cluster_size(config, None, [on_gpu(need)], []) is None
    assert fitting_cluster_size(config, None, [on_gpu(need - 1)], []) is not None


@pytest.mark.parametrize(
    "changes", [{"optimizer": {"micro_batch_tokens": 2000}}, {"model": {"path": "/no/such/model"}}]
)
def test_a_configured_number_and_what_the_plan_does_not_know_stay(changes: dict[str, Any]) -> None:
    assert fitting_cluster_size(run(**changes), None, [on_gpu(1000)], []) is None


@needs_ray
@pytest.mark.slow
def test_all_learners_of_a_run_take_the_number_and_a_resumed_run_keeps_it(
    tmp_path: Path, ray_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Learners find as much memory as 300 tokens need, which are more than a trajectory of 256 and less than the next
    number, 512. The next attempt finds enough for any number."""
    config = ray_config(cluster={"learners": 2}, rollout={"max_context_tokens": 256}, steps=1)
    enough = plan(with_tokens(config, 300), gpu=False).learner
    room = enough.total + enough.host  # the first learner's machine has its copy of the weights too

    def with_less(
        config: RunConfig, found: Path | None, free: Sequence[Free], hosts: Sequence[str]
    ) -> ForwardSize | None:
        assert len(free) == 2 and all(one.bytes > 0 and not one.gpu for one in free)
        less = [replace(one, machine=str(n), bytes=room) for n, one in enumerate(free)]
        return fitting_cluster_size(config, found, less, [])

    monkeypatch.setenv("RAY_ADDRESS", ray_address)
    monkeypatch.setattr(ray_backend, "fitting_cluster_size", with_less)
    assert train(config, tmp_path) == EXIT_DONE
    (alert,) = [event for event in events(tmp_path) if event.kind == "alert_raised" and event.rule == "cluster"]
    assert (alert.metric, alert.value) == ("cluster/tokens_per_forward", 256)
    assert "Results are the same" in alert.message
    written = tmp_path / "checkpoints/step_1"
    assert json.loads((written / "progress.json").read_text())["tokens_per_forward"] == 256
    again = fitting_cluster_size(config, written, [on_cpu("a", 2**50)] * 2, ["a"])
    assert again is not None and again.tokens == 256
