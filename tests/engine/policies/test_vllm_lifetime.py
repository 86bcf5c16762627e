"""vLLM's engine from start to end: what it cannot start with, tied embeddings, and what it leaves of itself."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import psutil
import pytest
import torch
from transformers import T5Config, XGLMConfig, XGLMForCausalLM

from engine.errors import ModelError
from engine.policies.vllm_engine import VllmEngine
from tests.engine.models import save_small_model, small_model, words
from tests.engine.policies.vllm_builders import logprobs_of, needs_vllm, random_ids

pytestmark = [pytest.mark.slow, needs_vllm]

CPU_ATTENTION = 64  # width at which two heads have the 32 that vLLM's attention on a CPU begins with


def processes() -> set[int]:
    """This process's children, but for the one that Python keeps for shared memory until it ends itself."""
    found = set()
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if "multiprocessing.resource_tracker" not in " ".join(child.cmdline()):
                found.add(child.pid)
    return found


@pytest.fixture
def leaving_no_trace() -> object:
    """Fails when a test leaves a process, a preloaded library or a forbidden setting behind."""
    before, preload, set_num_threads = processes(), os.environ.get("LD_PRELOAD"), torch.set_num_threads
    yield
    assert processes() <= before
    assert os.environ.get("LD_PRELOAD") == preload
    assert torch.set_num_threads is set_num_threads
    assert "VLLM_ALLOW_INSECURE_SERIALIZATION" not in os.environ


@pytest.mark.usefixtures("leaving_no_trace")
def test_tied_embeddings_take_new_weights_in_the_output_layer_too(tmp_path: Path) -> None:
    """vLLM's own reload leaves the output layer of its CPU build at the old weights: half a nat off for this model."""
    small_model(0, width=CPU_ATTENTION, tied=True).save_pretrained(tmp_path)
    ids = random_ids(60, vocabulary=len(words()))
    with VllmEngine(str(tmp_path), max_context_tokens=4096, rows=4) as engine:
        assert engine.context_tokens == 512  # the model's own
        for seed, named in enumerate([True, False, True], start=1):
            learner = small_model(seed, width=CPU_ATTENTION, tied=True)
            engine.load_weights(learner.named_parameters() if named else learner.state_dict().items())
            assert engine.score([ids]) == [pytest.approx(logprobs_of(learner, ids), abs=1e-4)]
    engine.close()


# in rare cases the two workers of vLLM's CPU build wait for each other forever, on a machine that is busy with others
@pytest.mark.flaky(reruns=2)
@pytest.mark.timeout(200)
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="two workers need two cores")
@pytest.mark.usefixtures("leaving_no_trace")
def test_two_workers_share_the_model_and_take_new_weights(tmp_path: Path) -> None:
    small_model(0, width=CPU_ATTENTION, tied=True).save_pretrained(tmp_path)
    before, ids = processes(), random_ids(60, vocabulary=len(words()))
    with VllmEngine(str(tmp_path), max_context_tokens=128, rows=4, tensor_parallel=2) as engine:
        assert len(processes() - before) >= 2
        learner = small_model(1, width=CPU_ATTENTION, tied=True)
        engine.load_weights(learner.named_parameters())
        assert engine.score([ids]) == [pytest.approx(logprobs_of(learner, ids), abs=1e-4)]


@pytest.mark.usefixtures("leaving_no_trace")
def test_a_model_that_vllm_cannot_compute_is_refused_and_another_starts_after_it(tmp_path: Path) -> None:
    narrow = save_small_model(tmp_path / "narrow")  # heads of 16, which vLLM's attention on a CPU does not have
    with pytest.raises(ModelError, match=r"vLLM cannot run .*narrow': .*head_dim=16"):
        VllmEngine(str(narrow), max_context_tokens=128, rows=4)
    with VllmEngine("tiny", max_context_tokens=128, rows=4) as engine:
        assert len(engine.score([[1, 2, 3]])[0]) == 2


@pytest.mark.usefixtures("leaving_no_trace")
def test_too_little_memory_is_said_with_what_to_do() -> None:
    with pytest.raises(ModelError, match=r"vLLM does not have enough memory for 'tiny': .*"):
        VllmEngine("tiny", max_context_tokens=2048, rows=4, memory_share=1e-5)


@pytest.mark.usefixtures("leaving_no_trace")
def test_attention_heads_that_the_workers_cannot_share_are_said() -> None:
    with pytest.raises(ModelError, match=r"attention heads \(4\) must be divisible by tensor parallel size \(3\)"):
        VllmEngine("tiny", max_context_tokens=128, tensor_parallel=3)


def test_a_model_that_vllm_does_not_know_is_refused(tmp_path: Path) -> None:
    XGLMForCausalLM(
        XGLMConfig(d_model=32, ffn_dim=32, num_layers=1, attention_heads=2, vocab_size=99, max_position_embeddings=64)
    ).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=r"vLLM cannot run .*: .*XGLM.* Use a decoder-only language model"):
        VllmEngine(str(tmp_path), max_context_tokens=64)


def test_a_model_that_writes_no_text_is_refused(tmp_path: Path) -> None:
    T5Config(d_model=32, d_ff=32, d_kv=16, num_layers=1, num_heads=2, vocab_size=99).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=r"vLLM cannot run .*: .*T5Config"):
        VllmEngine(str(tmp_path), max_context_tokens=64)


def test_a_directory_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"it has no config\.json"):
        VllmEngine(str(tmp_path), max_context_tokens=64)


@pytest.mark.usefixtures("leaving_no_trace")
def test_nothing_is_compiled_on_a_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To compile vLLM's count of ranks takes longer than all else of a start, and a C++ compiler."""
    torch._dynamo.reset()
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    with VllmEngine("tiny", max_context_tokens=128, rows=4) as engine:
        assert len(engine.score([[1, 2, 3]])[0]) == 2
    assert list(tmp_path.rglob("*.cpp")) == []
