"""What vLLM is known not to run is what vLLM itself refuses, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from transformers import AutoConfig

from engine.policies.vllm_models import unsupported_by_vllm
from tests.engine.policies.vllm_builders import needs_vllm

pytestmark = needs_vllm

RUNS = {
    "qwen2": "Qwen2ForCausalLM",
    "llama": "LlamaForCausalLM",
    "gpt2": "GPT2LMHeadModel",
    "persimmon": "PersimmonForCausalLM",  # not vLLM's own any more, and taken from transformers
}
REFUSED = {
    "gpt_neo": "GPTNeoForCausalLM",
    "codegen": "CodeGenForCausalLM",
    "xglm": "XGLMForCausalLM",
    "bert": "BertModel",
}
ASK = """
import sys
from vllm.config import ModelConfig
for path in sys.argv[1:]:
    try:
        ModelConfig(model=path, skip_tokenizer_init=True, runner="generate", dtype="float32")
        print("RUNS")
    except Exception as error:
        print("REFUSED", type(error).__name__)
"""


@pytest.mark.parametrize("family", RUNS)
def test_nothing_is_said_against_a_model_that_vllm_runs(family: str) -> None:
    assert unsupported_by_vllm(RUNS[family], family) == ""


@pytest.mark.parametrize("family", REFUSED)
def test_a_model_that_vllm_does_not_run_is_refused_with_the_reason(family: str) -> None:
    assert REFUSED[family] in unsupported_by_vllm(REFUSED[family], family)


@pytest.mark.parametrize(("architecture", "family"), [("", ""), ("MyOwnForCausalLM", "mine"), ("Qwen2", "../qwen2")])
def test_nothing_is_said_of_what_is_not_known(architecture: str, family: str) -> None:
    assert unsupported_by_vllm(architecture, family) == ""


@pytest.mark.slow
def test_vllm_itself_says_the_same(tmp_path: Path) -> None:
    """Of one that it takes from transformers, and of those that it does not; the others are in its own tables."""
    asked = {"persimmon": "PersimmonForCausalLM", **{family: REFUSED[family] for family in ("gpt_neo", "codegen")}}
    folders = []
    for family, architecture in asked.items():
        folder = tmp_path / family
        AutoConfig.for_model(family).save_pretrained(folder)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, "architectures": [architecture]}))
        folders.append(str(folder))
    done = subprocess.run(
        [sys.executable, "-c", ASK, *folders],
        env={**os.environ, "VLLM_LOGGING_LEVEL": "CRITICAL", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    said = [line.split()[0] for line in done.stdout.splitlines() if line.startswith(("RUNS", "REFUSED"))]
    assert said == ["RUNS", "REFUSED", "REFUSED"], done.stdout


def test_models_with_compressed_keys_and_values_are_not_offered() -> None:
    """vLLM's loader does not know the names of their merged experts."""
    assert "new weights of DeepseekV3ForCausalLM" in unsupported_by_vllm(
        "DeepseekV3ForCausalLM", "deepseek_v3", latent=True
    )
