"""What a run asks of a cluster, and how trajectories are shared out, by hand."""

from __future__ import annotations

import pytest

from engine.cluster.needs import needs_of
from engine.cluster.shards import shards_of
from engine.config import ClusterConfig, EnvironmentConfig, RunConfig, build_config
from engine.errors import ConfigError
from engine.rollout.env_state_manager import EnvStateManager


def test_apart_each_sampler_and_learner_has_devices_of_its_own() -> None:
    needs = needs_of(ClusterConfig(samplers=2, tensor_parallel=2, learners=3), gpus=True)
    assert needs.bundles == [{"CPU": 1, "GPU": 2}] * 2 + [{"CPU": 1, "GPU": 1}] * 3
    assert (needs.samplers, needs.learners) == ([0, 1], [2, 3, 4])
    assert (needs.gpus, needs.cpus) == (7, 5)


def test_colocated_a_sampler_and_a_learner_share_one_gpu() -> None:
    needs = needs_of(ClusterConfig(samplers=2, learners=2, placement="colocated"), gpus=True)
    assert needs.bundles == [{"CPU": 2, "GPU": 1}] * 2
    assert needs.samplers == needs.learners == [0, 1]
    assert needs.sampler_gpus + needs.learner_gpus == 1.0


def test_without_gpus_each_takes_a_processor() -> None:
    needs = needs_of(ClusterConfig(samplers=1, learners=2), gpus=False)
    assert needs.bundles == [{"CPU": 1}] * 3
    assert (needs.gpus, needs.cpus) == (0, 3)


@pytest.mark.parametrize("placement", ["disaggregated", "colocated"])
def test_environment_actors_have_a_processor_each_and_no_gpu(placement: str) -> None:
    config = ClusterConfig.model_validate(
        {"samplers": 2, "learners": 2, "environment_actors": 3, "placement": placement}
    )
    needs, without = (needs_of(one, gpus=True) for one in (config, config.model_copy(update={"environment_actors": 0})))
    assert needs.bundles == [*without.bundles, *[{"CPU": 1}] * 3]
    assert needs.environments == list(range(len(without.bundles), len(needs.bundles)))
    assert (needs.cpus, needs.gpus) == (without.cpus + 3, without.gpus)
    assert (needs.samplers, needs.learners) == (without.samplers, without.learners)


@pytest.mark.parametrize(
    ("free", "words"),
    [
        ({"GPU": 1, "CPU": 8}, "needs 2 GPUs, 1 free of 4"),
        ({"CPU": 1}, "needs 2 GPUs, 0 free of 4; needs 2 CPUs, 1 free of 8"),
        ({"GPU": 4, "CPU": 8}, "needs 2 bundles together, and what is free lies apart"),
    ],
)
def test_what_is_lacking_is_said_in_words(free: dict[str, float], words: str) -> None:
    needs = needs_of(ClusterConfig(), gpus=True)
    assert needs.in_words(free, {"GPU": 4, "CPU": 8}) == words


@pytest.mark.parametrize(("count", "sizes"), [(1, [10]), (2, [4, 6]), (3, [2, 4, 4]), (9, [2, 2, 2, 2, 2])])
def test_samplers_have_whole_groups_and_none_has_nothing(count: int, sizes: list[int]) -> None:
    manager = EnvStateManager([EnvironmentConfig.model_validate({})], groups=5, group_size=2, seed=1)
    specs = manager.training_batch(1)
    shards = shards_of(specs, count)
    assert [len(shard) for shard in shards] == sizes
    assert [spec for shard in shards for spec in shard] == specs


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"tensor_parallel": 2, "sampler": "torch"}, "cluster.tensor_parallel"),
        ({"tensor_parallel": 2, "device": "cpu"}, "cluster.tensor_parallel"),
        ({"placement": "colocated", "samplers": 2}, "cluster.placement"),
        ({"placement": "colocated", "overlap": True}, "cluster.overlap"),
    ],
)
def test_what_cannot_be_is_refused_at_its_field(section: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        build_config({"backend": "ray", "cluster": section})


def test_a_sharded_gradient_is_not_taken_apart_while_training() -> None:
    asked = {"cluster": {"learners": 2}, "diagnostics": {"gradients_every": 5}}
    assert isinstance(build_config(asked), RunConfig)  # locally nobody shards
    with pytest.raises(ConfigError, match="engine probe"):
        build_config({"backend": "ray", **asked})
