"""The resources a run requires of a cluster, and how its groups are partitioned."""

from __future__ import annotations

import pytest

from engine.cluster.resources import required_resources
from engine.config import ClusterConfig, EnvironmentConfig, RunConfig, build_config
from engine.errors import ConfigError
from engine.rollout.env_state_manager import EnvStateManager, partition_by_group


def test_disaggregated_each_sampler_and_learner_has_its_own_devices() -> None:
    required = required_resources(ClusterConfig(samplers=2, tensor_parallel=2, learners=3), gpus=True)
    assert required.bundles == [{"CPU": 1, "GPU": 2}] * 2 + [{"CPU": 1, "GPU": 1}] * 3
    assert (required.samplers, required.learners) == ([0, 1], [2, 3, 4])
    assert (required.gpus, required.cpus) == (7, 5)


def test_colocated_a_sampler_and_a_learner_share_one_gpu() -> None:
    required = required_resources(ClusterConfig(samplers=2, learners=2, placement="colocated"), gpus=True)
    assert required.bundles == [{"CPU": 2, "GPU": 1}] * 2
    assert required.samplers == required.learners == [0, 1]
    assert required.sampler_gpus + required.learner_gpus == 1.0


def test_without_gpus_each_takes_a_cpu() -> None:
    required = required_resources(ClusterConfig(samplers=1, learners=2), gpus=False)
    assert required.bundles == [{"CPU": 1}] * 3
    assert (required.gpus, required.cpus) == (0, 3)


@pytest.mark.parametrize("placement", ["disaggregated", "colocated"])
def test_environment_actors_have_a_cpu_each_and_no_gpu(placement: str) -> None:
    config = ClusterConfig.model_validate(
        {"samplers": 2, "learners": 2, "environment_actors": 3, "placement": placement}
    )
    required, without = (
        required_resources(one, gpus=True) for one in (config, config.model_copy(update={"environment_actors": 0}))
    )
    assert required.bundles == [*without.bundles, *[{"CPU": 1}] * 3]
    assert required.environments == list(range(len(without.bundles), len(required.bundles)))
    assert (required.cpus, required.gpus) == (without.cpus + 3, without.gpus)
    assert (required.samplers, required.learners) == (without.samplers, without.learners)


@pytest.mark.parametrize(
    ("free", "description"),
    [
        ({"GPU": 1, "CPU": 8}, "needs 2 GPUs, 1 free of 4"),
        ({"CPU": 1}, "needs 2 GPUs, 0 free of 4; needs 2 CPUs, 1 free of 8"),
        ({"GPU": 4, "CPU": 8}, "needs 2 bundles together, and the free resources are fragmented"),
    ],
)
def test_missing_resources_are_described(free: dict[str, float], description: str) -> None:
    required = required_resources(ClusterConfig(), gpus=True)
    assert required.describe_missing(free, {"GPU": 4, "CPU": 8}) == description


@pytest.mark.parametrize(("count", "sizes"), [(1, [10]), (2, [4, 6]), (3, [2, 4, 4]), (9, [2, 2, 2, 2, 2])])
def test_partitions_have_whole_groups_and_none_is_empty(count: int, sizes: list[int]) -> None:
    manager = EnvStateManager([EnvironmentConfig.model_validate({})], groups=5, group_size=2, seed=1)
    specs = manager.training_batch(1)
    partitions = partition_by_group(specs, count)
    assert [len(partition) for partition in partitions] == sizes
    assert [spec for partition in partitions for spec in partition] == specs


@pytest.mark.parametrize(
    ("section", "field"),
    [
        ({"tensor_parallel": 2, "sampler": "torch"}, "cluster.tensor_parallel"),
        ({"tensor_parallel": 2, "device": "cpu"}, "cluster.tensor_parallel"),
        ({"placement": "colocated", "samplers": 2}, "cluster.placement"),
        ({"placement": "colocated", "overlap": True}, "cluster.overlap"),
    ],
)
def test_an_impossible_setting_is_refused_at_its_field(section: dict[str, object], field: str) -> None:
    with pytest.raises(ConfigError, match=field):
        build_config({"backend": "ray", "cluster": section})


def test_sharded_gradients_are_not_decomposed_while_training() -> None:
    sections = {"cluster": {"learners": 2}, "diagnostics": {"gradients_every": 5}}
    assert isinstance(build_config(sections), RunConfig)  # locally nobody shards
    with pytest.raises(ConfigError, match="engine probe"):
        build_config({"backend": "ray", **sections})
