"""Weights on their way to samplers: which transfer is used, what is sent, and that vLLM accepts what it gets.

NCCL and IPC need GPUs. What does not is run here with vLLM's own classes: both ends' arguments, the sender's part that
every learner has, and the worker's update from start to finish.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.multiprocessing as processes
from safetensors.torch import save_file
from torch import Tensor

from engine.cluster.checks import Machine, check_cluster
from engine.cluster.weight_sender import CoordinatedByDriver, nccl_link, nccl_worker_link, open_nccl
from engine.config import ClusterConfig, LoraSection, build_config
from engine.errors import ConfigError, ModelError
from engine.policies.adapter import add_adapter, merged_state
from engine.policies.loading import load_model
from engine.policies.policy_weights import PolicyWeights
from engine.policies.vllm_engine import VllmEngine
from engine.policies.weight_checksums import SentChecksums, agree
from tests.engine.models import small_model
from tests.engine.policies.vllm_builders import CONTEXT_TOKENS, logprobs_of, needs_vllm, random_ids

GIB = 1024**3


@pytest.mark.parametrize(
    ("section", "gpus", "method"),
    [
        ({}, False, "object_store"),
        ({}, True, "nccl"),
        ({"placement": "colocated"}, True, "ipc"),
        ({"placement": "colocated"}, False, "object_store"),
        ({"sampler": "torch"}, True, "object_store"),
        ({"weight_transfer": "object_store"}, True, "object_store"),
    ],
)
def test_weights_go_from_gpu_to_gpu_where_vllm_and_gpus_are(section: dict[str, Any], gpus: bool, method: str) -> None:
    assert ClusterConfig(**section).weight_transfer_method(gpus=gpus) == method


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        ({"weight_transfer": "nccl", "placement": "colocated"}, "between two processes on one GPU"),
        ({"weight_transfer": "ipc"}, "needs both processes on one GPU"),
        ({"weight_transfer": "nccl", "device": "cpu"}, "needs GPUs"),
        ({"weight_transfer": "ipc", "placement": "colocated", "sampler": "torch"}, "needs the vllm sampler"),
    ],
)
def test_an_impossible_weight_transfer_is_refused_with_a_possible_one(section: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError) as refused:
        build_config({"backend": "ray", "cluster": section})
    assert reason in str(refused.value) and "se " in str(refused.value)


def test_on_a_machine_without_gpus_the_form_refuses_a_transfer_between_gpus() -> None:
    config = build_config({"backend": "ray", "cluster": {"weight_transfer": "nccl"}})
    without, with_gpus = Machine(gpus=(), memory=64 * GIB), Machine(gpus=(80 * GIB,) * 2, memory=64 * GIB)
    assert "Use auto or object_store" in check_cluster(config, without).problems["cluster.weight_transfer"]
    assert check_cluster(config, with_gpus).problems == {}


def test_all_parameters_of_the_model_are_sent() -> None:
    model, _ = load_model("tiny")
    weights = PolicyWeights(model, torch.bfloat16)
    sent, manifest = dict(weights), weights.manifest()
    own = dict(model.named_parameters())
    assert manifest["names"] == list(sent) == list(own)
    assert manifest["shapes"] == [list(weight.shape) for weight in own.values()]
    assert set(manifest["dtype_names"]) == {"bfloat16"}
    assert all(torch.equal(sent[name], own[name].detach().bfloat16()) for name in own)
    # the embedding and the head are the largest: 2 bytes for each of their numbers
    assert weights.largest() == 2 * own["model.embed_tokens.weight"].numel()


def test_an_adapter_is_merged_and_its_own_weights_are_not_sent() -> None:
    model = small_model()
    names = [name for name, _ in model.named_parameters()]
    add_adapter(model, LoraSection(rank=4))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:  # it begins at 0
                weight.normal_()
    sent, merged = dict(PolicyWeights(model, torch.float32)), merged_state(model)
    assert list(sent) == names
    for name in names:
        torch.testing.assert_close(sent[name], merged[name])


@pytest.mark.slow
@needs_vllm
@pytest.mark.parametrize("sections", [{}, {"model": {"lora": {"rank": 4}}}], ids=["all", "adapter"])
def test_two_learners_send_what_one_would(tmp_path: Path, sections: dict[str, Any]) -> None:
    from engine.training.sharding import Alone
    from tests.engine.cluster.weight_parts import send_to_file
    from tests.engine.training.sharded_runs import new_learner

    small_model().save_pretrained(tmp_path / "model")
    processes.spawn(send_to_file, args=(2, tmp_path, sections), nprocs=2)
    found = torch.load(tmp_path / "sent.pt", weights_only=True)
    alone = PolicyWeights(new_learner(Alone(), tmp_path / "model", sections).model, torch.float32)
    assert found["manifest"] == alone.manifest()
    for name, weight in alone:
        torch.testing.assert_close(found["sent"][name], weight)


@needs_vllm
def test_every_worker_of_every_sampler_has_a_rank_of_its_own() -> None:
    from vllm.distributed.weight_transfer.nccl_engine import NCCLTrainerInitInfo, NCCLWeightTransferInitInfo

    link = nccl_link("10.0.0.1", 6000, workers=3 * 2)
    sender = NCCLTrainerInitInfo(rank=0, **link)
    samplers = [NCCLWeightTransferInitInfo(**nccl_worker_link(link, index, tensor_parallel=2)) for index in range(3)]
    # a worker's rank is its sampler's offset and its own rank within it; 0 is the first learner
    ranks = [0] + [sampler.rank_offset + worker for sampler in samplers for worker in range(2)]
    assert ranks == list(range(sender.world_size)) == list(range(7))
    for sampler in samplers:
        assert (sampler.packed, sampler.packed_buffer_size_bytes, sampler.packed_num_buffers) == (
            sender.packed,
            sender.packed_buffer_size_bytes,
            sender.packed_num_buffers,
        )


@needs_vllm
def test_vllms_sender_takes_our_weights_as_its_source_and_our_manifest_as_its_update() -> None:
    from vllm.distributed.weight_transfer import VLLMWeightSyncClient
    from vllm.distributed.weight_transfer.nccl_engine import (
        NCCLTrainerWeightTransferEngine,
        NCCLWeightTransferUpdateInfo,
    )

    model, _ = load_model("tiny")
    weights = PolicyWeights(model, torch.bfloat16)
    checked = list(NCCLTrainerWeightTransferEngine._checked_iter(weights, weights.metadata()))
    assert NCCLWeightTransferUpdateInfo(**weights.manifest()).names == [name for name, _ in checked]
    assert isinstance(CoordinatedByDriver(), VLLMWeightSyncClient)


@needs_vllm
def test_a_learner_that_is_not_the_first_takes_part_without_a_gpu() -> None:
    """It joins no group of NCCL, and walks through the weights so that shards can be gathered."""
    walked: list[str] = []

    class Watched(PolicyWeights):
        def __iter__(self) -> Iterator[tuple[str, Tensor]]:
            for name, weight in super().__iter__():
                walked.append(name)
                yield name, weight

    weights = Watched(load_model("tiny")[0], torch.float32)
    sender = open_nccl(weights, rank=1, link=nccl_link("10.0.0.1", 6000, workers=1))
    sender.send_weights()
    assert walked == weights.manifest()["names"]


@pytest.fixture(scope="module")
def started() -> Iterator[VllmEngine]:
    from tests.engine.cluster.weight_parts import FILES, register

    register()
    with VllmEngine("tiny", max_context_tokens=CONTEXT_TOKENS, rows=8, transfer=FILES) as engine:
        engine.join_transfer(nccl_worker_link(nccl_link("10.0.0.1", 6000, workers=1), 0, tensor_parallel=1))
        yield engine


def changed_model() -> Any:
    model, _ = load_model("tiny")
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.02 * torch.randn(weight.shape, generator=generator)
    return model


def parts(weights: PolicyWeights, folder: Path, count: int) -> list[dict[str, Any]]:
    """The update in `count` parts, each with the file that stands in for the wire."""
    save_file(dict(weights), folder / "weights.safetensors")
    manifest, size = weights.manifest(), len(weights.metadata())
    borders = [index * size // count for index in range(count + 1)]
    return [
        {name: values[begin:end] for name, values in manifest.items()} | {"file": str(folder / "weights.safetensors")}
        for begin, end in pairwise(borders)
    ]


@pytest.mark.slow
@needs_vllm
@pytest.mark.parametrize("count", [1, 3])
def test_an_update_from_start_to_finish_gives_the_learners_log_probabilities(
    started: VllmEngine, tmp_path: Path, count: int
) -> None:
    ids = random_ids(40, vocabulary=700)
    started.load_weights(load_model("tiny")[0].named_parameters())
    before = started.score([ids])[0]
    model = changed_model()
    started.start_update()
    for part in parts(PolicyWeights(model, torch.float32), tmp_path, count):
        started.receive_update(part)
    started.finish_update()
    assert started.score([ids])[0] == pytest.approx(logprobs_of(model, ids), abs=1e-4)
    # vLLM's build for processors holds its layers packed, so they cannot be compared bit for bit
    sums = SentChecksums()
    for name, weight in PolicyWeights(model, torch.float32):
        sums.add(name, weight)
    assert agree(sums.total(), started.checksums()) is None
    assert max(abs(new - old) for new, old in zip(started.score([ids])[0], before, strict=True)) > 0.1


@pytest.mark.slow
@needs_vllm
def test_an_update_that_lacks_weights_is_refused_and_so_is_work_until_they_are_all_there(
    started: VllmEngine, tmp_path: Path
) -> None:
    halves = parts(PolicyWeights(changed_model(), torch.float32), tmp_path, 2)
    started.start_update()
    started.receive_update(halves[0])
    with pytest.raises(ModelError, match="weights are missing"):
        started.finish_update()
    with pytest.raises(ModelError, match="weights of different versions"):
        started.score([[1, 2, 3]])
    started.load_weights(load_model("tiny")[0].named_parameters())
    assert started.score([[1, 2, 3]])


@pytest.mark.slow
@needs_vllm
def test_an_unknown_weight_is_refused_before_any_is_received(started: VllmEngine) -> None:
    started.start_update()
    with pytest.raises(ModelError, match=r"no weight 'model\.nothing'"):
        started.receive_update({"names": ["model.nothing"], "dtype_names": ["float32"], "shapes": [[1]], "file": ""})
    with pytest.raises(ModelError, match="weights are missing"):
        started.finish_update()
    started.load_weights(load_model("tiny")[0].named_parameters())


@pytest.mark.slow
@needs_vllm
def test_vllm_starts_with_each_of_its_transfers() -> None:
    for method in ("nccl", "ipc"):
        with VllmEngine("tiny", max_context_tokens=64, rows=2, transfer=method) as engine:
            assert len(engine.score([[1, 2, 3]])[0]) == 2
