"""A directory with a model decides neither which code computes it nor what is unpickled."""

from __future__ import annotations

import json
import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from engine.errors import ModelError
from engine.inspection.inspect import inspect_model
from engine.policies.loading import load_model
from engine.policies.meta_model import _without_weights
from engine.policies.model_paths import model_source


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return Path(shutil.copytree(model_source("tiny-bandit"), tmp_path / "model"))


@pytest.mark.parametrize("key", ["_attn_implementation", "attn_implementation", "_experts_implementation"])
@pytest.mark.parametrize("value", ["eager", "somebody/kernels", {"": "somebody/kernels"}])
def test_the_attention_of_a_configuration_is_not_used(directory: Path, key: str, value: object) -> None:
    file = directory / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), key: value}))
    assert load_model(str(directory))[0].config._attn_implementation == "sdpa"
    assert _without_weights(str(directory)).config._attn_implementation == "sdpa"


def test_weights_that_are_not_safetensors_are_refused(directory: Path) -> None:
    weights = load_file(directory / "model.safetensors")
    (directory / "model.safetensors").unlink()
    torch.save(weights, directory / "pytorch_model.bin")
    with pytest.raises(ModelError, match="safetensors"):
        load_model(str(directory))


OF_ITS_OWN = (
    "from pathlib import Path\nPath(__file__).with_name('it_ran').touch()\nclass Config: pass\nclass Model: pass\n"
)


@pytest.mark.parametrize("kind", ["qwen2", "one_of_their_own"])
def test_code_in_the_directory_of_a_model_is_not_run(directory: Path, kind: str) -> None:
    (directory / "theirs.py").write_text(OF_ITS_OWN)
    classes = {"AutoConfig": "theirs.Config", "AutoModelForCausalLM": "theirs.Model", "AutoTokenizer": "theirs.Model"}
    for name in ("config.json", "tokenizer_config.json"):
        file = directory / name
        file.write_text(json.dumps({**json.loads(file.read_text()), "auto_map": classes, "model_type": kind}))
    with nullcontext() if kind == "qwen2" else pytest.raises(ModelError):
        load_model(str(directory))
    inspect_model(str(directory))
    assert not list(directory.rglob("it_ran"))
