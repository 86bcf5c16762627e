"""The scripts for GPUs take the same path on a processor, small, and count operations as PaLM does."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import torch
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks.gpu.__main__ import PARTS, Part, run, table
from benchmarks.gpu.models import QWEN25_HALF_BILLION
from benchmarks.gpu.peaks import UnknownPeak, peak_tflops
from benchmarks.operations import forward_operations, qwen2, update_operations
from tests.engine.cluster.runs import needs_ray
from tests.engine.policies.vllm_builders import needs_vllm


def printed(*command: str, **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", *command, "--small"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=590,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture
def printed_here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """As `printed`, in this process, which has imported torch already."""

    def main_of(module: str, *arguments: str) -> dict[str, Any]:
        monkeypatch.setattr(sys, "argv", [module, *arguments, "--small"])
        assert importlib.import_module(module).main() == 0
        return dict(json.loads(capsys.readouterr().out.splitlines()[-1]))

    return main_of


HIDING = """
import runpy, sys
hidden = set({hidden!r})
class Hiding:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in hidden else self.finder.find_spec(name, path, target)
    def __getattr__(self, name):
        return getattr(self.finder, name)
sys.meta_path[:] = [Hiding(finder) for finder in sys.meta_path]
sys.argv = ["learner", "--small", "--packing", "--checkpointing"]
runpy.run_module("benchmarks.gpu.learner", run_name="__main__")
"""


def needed_by(*distributions: str) -> set[str]:
    """These distributions and all that they ask for on this machine, by their own names."""
    needed: set[str] = set()
    asked = list(distributions)
    while asked:
        name = canonicalize_name(asked.pop())
        if name in needed or not has(name):
            continue
        needed.add(name)
        wanted = map(Requirement, metadata.requires(name) or [])
        asked += [one.name for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]
    return needed


def has(distribution: str) -> bool:
    return bool(list(metadata.distributions(name=distribution)))


def modules_beside(needed: set[str]) -> list[str]:
    """Top-level modules that are installed here for nothing of `needed`."""
    found = metadata.packages_distributions().items()
    return [module for module, owners in found if not needed & {canonicalize_name(owner) for owner in owners}]


def test_operations_are_two_for_each_parameter_of_a_layer_and_token() -> None:
    sizes = {
        "hidden_size": 4, "intermediate_size": 6, "num_hidden_layers": 1, "num_attention_heads": 2,
        "num_key_value_heads": 1, "vocab_size": 10, "max_position_embeddings": 8, "tie_word_embeddings": True,
    }  # fmt: skip
    # q, o: 16 each; k, v: 8 each; gate, up, down: 24 each: 120 numbers. Two tokens: 2 x 2 x 120 = 480.
    # attention: 4 x 2 tokens x half of a row of 2 x 1 layer x 4 wide = 32. One scored: 2 x 4 x 10 = 80.
    assert forward_operations(qwen2(sizes), tokens=2, length=2, scored=1) == 592
    assert update_operations(qwen2(sizes), tokens=2, length=2, scored=1) == 1776


def test_the_large_shape_has_the_parameters_of_the_model_it_is_named_after() -> None:
    # its card says 0.49 billion, 0.36 without the embedding of 151,936 x 896
    shape = qwen2(QWEN25_HALF_BILLION)
    assert shape.parameters == 494_032_768
    assert shape.parameters - 151_936 * 896 == 357_898_112


def test_a_gpu_is_known_by_its_name_and_an_unknown_one_is_refused_with_what_to_pass() -> None:
    assert peak_tflops("NVIDIA H100 80GB HBM3", half=True) == 989
    assert peak_tflops("NVIDIA H100 PCIe", half=True) == 756
    assert peak_tflops("NVIDIA L40S", half=True) == 362
    assert peak_tflops("Some GPU", half=True, given=50) == 50
    with pytest.raises(UnknownPeak, match=r"'NVIDIA L400'.*--peak-tflops"):
        peak_tflops("NVIDIA L400", half=True)
    with pytest.raises(UnknownPeak, match="float32"):
        peak_tflops("NVIDIA H100 80GB HBM3", half=False)


@pytest.mark.slow
def test_the_learner_is_measured_with_nothing_but_what_its_script_says_it_needs() -> None:
    hidden = modules_beside(needed_by("torch", "transformers", "pydantic"))
    assert {"django", "psutil", "ray"} & set(hidden) and not {"torch", "numpy", "pydantic"} & set(hidden)
    done = subprocess.run(
        [sys.executable, "-c", HIDING.format(hidden=hidden)], capture_output=True, text=True, timeout=590, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    # of 128 tokens in stretches of 64 every second one was sampled: 8 x 64
    assert found["rows"] == 8 and found["sampled"] == 512
    assert found["tokens_per_second"] > 0 and 0 < found["of_product"] < 2


@pytest.mark.slow
@needs_vllm
def test_both_samplers_are_measured() -> None:
    found = printed("benchmarks.gpu.sampler", "--samplers", "ours", "vllm", "bare")  # small, all are uncompiled
    assert min(found[f"{which}_tokens_per_second"] for which in ("ours", "vllm", "bare_vllm")) > 0


@pytest.mark.slow
@needs_ray
def test_a_ray_run_is_measured_on_the_same_and_on_other_gpus_with_rollouts_ahead(ray_address: str) -> None:
    command = ["benchmarks.gpu.ray_run", "--sampler", "torch", "--steps", "2", "--only", "colocated", "overlap"]
    found = printed(*command, RAY_ADDRESS=ray_address)
    assert found["not_run"] == []
    for arrangement in ("colocated", "overlap"):
        assert {"time/rollout", "time/update", "time/sync", "time/step"} <= found[arrangement].keys()
    assert found["overlap"]["policy/staleness"] == 1


def tiny(**changes: Any) -> argparse.Namespace:
    return argparse.Namespace(**{"tiny": True, "minutes": 10.0, "peak_tflops": None} | changes)


def sleeping(printed: str, *, share: float) -> Part:
    command = ["timeit", "-n1", "-r1", f"import time; print({printed!r}, flush=True); time.sleep(60)"]
    return Part(title="of sleep", command=command, share=share, shown=("seconds",))


def in_minutes(minutes: float) -> float:
    return time.monotonic() + 60 * minutes


def test_a_part_that_cannot_run_is_named_with_the_reason() -> None:
    absent = Part(title="of nothing", command=["nowhere"], share=0.5, modules=("no_such_module",), shown=())
    assert run(absent, tiny(), ends=in_minutes(10)) == {"not_run": "no_such_module is not installed"}
    assert run(PARTS[0], tiny(), ends=in_minutes(0.01)) == {"not_run": "no time was left of 10 minutes"}
    failing = Part(title="of an error", command=["no_such_module"], share=0.5, shown=())
    assert "No module named no_such_module" in run(failing, tiny(), ends=in_minutes(10))["failed"]


def test_without_vllm_and_ray_the_parts_that_need_them_say_so_and_the_others_are_of_torch_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    absent = {"ray", "vllm"}
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in absent else find(name))
    found = {part.title: run(part, tiny(), ends=in_minutes(10)) for part in PARTS if part.modules}
    assert found == {
        "whole steps, colocated, with their weight sync": {"not_run": "Ray and vLLM are not installed"},
        "sampling, 0.5B, vLLM": {"not_run": "vLLM is not installed"},
    }
    sampling = next(part for part in PARTS if part.title == "sampling, 0.5B, vLLM")
    rows = list(table([(sampling, found[sampling.title])]))
    assert rows[-1] == "| sampling, 0.5B, vLLM | not run: vLLM is not installed |"


def test_a_part_that_reaches_its_limit_keeps_what_it_has_printed() -> None:
    assert all(0 < part.share < 1 for part in PARTS)
    found = run(sleeping('{"seconds": 3}\n{"seconds": 4}\n{"sec', share=0.005), tiny(tiny=False), ends=in_minutes(10))
    # 0.005 of ten minutes are 3 s; the last line is incomplete
    assert 3 <= found.pop("wall_seconds") < 30
    assert found == {"cut": "ended by its limit of 3 s", "seconds": 4}
    assert (
        list(table([(sleeping("", share=0.5), found)]))[2] == "| of sleep | cut: ended by its limit of 3 s, seconds 4 |"
    )


@pytest.mark.slow
def test_the_command_writes_each_part_as_it_is_done_and_a_signal_ends_it_with_what_it_has(tmp_path: Path) -> None:
    file = tmp_path / "found.jsonl"
    command = [sys.executable, "-m", "benchmarks.gpu", "--tiny", "--out", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    assert first["part"] == PARTS[0].title and first["tokens_per_second"] > 0
    assert json.loads(file.read_text().splitlines()[0]) == first
    process.send_signal(signal.SIGTERM)
    rest = process.stdout.read()
    assert process.wait(timeout=120) == 0
    assert f"| {PARTS[-1].title} | not run: " in rest
    assert file.read_text() == json.dumps(first) + "\n" + rest


def test_the_table_has_the_results_of_a_part_or_why_there_are_none() -> None:
    part = Part(title="update", command=["nowhere"], share=0.5, shown=("mfu", "colocated"))
    colocated = {"time/sync": 0.2, "cluster/sync_gb": 1.98, "perf/of_no_interest": 1}
    results: list[tuple[Part, dict[str, Any]]] = [
        (part, {"mfu": 0.41, "rows": 8, "colocated": colocated}),
        (part, {"failed": "Traceback\nValueError: no room"}),
    ]
    assert list(table(results))[2:] == [
        "| update | mfu 0.41, colocated time/sync 0.2, cluster/sync_gb 1.98 |",
        "| update | failed: ValueError: no room |",
    ]


def test_what_a_gpu_machine_is_sent_is_below_64_mib() -> None:
    root = Path(__file__).parents[2]
    files = [file for name in ("engine", "benchmarks") for file in (root / name).rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files if "__pycache__" not in file.parts) < 64 * 1024**2


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="the shares are those of a CPU")
def test_the_update_is_compared_with_a_bare_pass_of_transformers(printed_here: Callable[..., dict[str, Any]]) -> None:
    found = printed_here("benchmarks.gpu.against_transformers", "--profile")
    # of 128 tokens in stretches of 64 every second one was sampled
    assert (found["tokens"], found["sampled"]) == (512, 256)
    assert found["update"] > found["step"] > 0
    # no operation counts twice, which would leave less than nothing for the rest
    assert min(found["shares"].values()) >= 0 and sum(found["shares"].values()) == pytest.approx(1, abs=0.01)
    assert min(found["shares"][kind] for kind in ("matrix products", "optimizer")) > 0.01


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU has the kernel without padding")
def test_attention_of_packs_is_measured_in_padded_rows_where_there_is_no_kernel(
    printed_here: Callable[..., dict[str, Any]],
) -> None:
    found = printed_here("benchmarks.gpu.packed_attention")
    assert found["tokens"] >= 4096 and 1 < found["padding"] <= 1.25
    assert found["padded_seconds"] > 0 and "without_padding_seconds" not in found


@pytest.mark.slow
def test_rounding_once_and_at_each_step_is_compared_for_equal_samples(
    printed_here: Callable[..., dict[str, Any]],
) -> None:
    found = printed_here("benchmarks.rounded_weights")
    assert found["equal"]
    assert found["seconds"].keys() == {"once", "each_step"} and found["each_step_of_once"] > 0
