"""The page on models: what ships, and any other by its path before it is used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from engine.config import LoraSection, ModelConfig
from engine.environment_calls.helper import CallFailed
from engine.policies.adapter import add_adapter, save_adapter
from engine.policies.model_paths import BUNDLED
from tests.engine.hub_cache import add_commit
from tests.engine.models import save_small_model, small_model
from tests.engine.zoo import save_zoo_model
from workers.model_inspections import inspect

pytestmark = pytest.mark.django_db
WITHOUT_TOKENIZER = {
    "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 32, "intermediate_size": 64,
    "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 300,
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(settings: Settings, tmp_path: Path) -> None:
    settings.STARBOARD_MODEL_FOLDERS = [tmp_path]


def page_of(browser: Client, path: str = "") -> str:
    return browser.get("/models/", {"path": path}).content.decode()


def test_the_models_that_ship_are_listed(browser: Client) -> None:
    page = page_of(browser)
    assert all(f">{name}<" in page for name in BUNDLED)
    assert "Chat template" not in page


def test_a_model_is_shown_with_its_template_and_memory(browser: Client) -> None:
    page = page_of(browser, "tiny")
    assert "Qwen2ForCausalLM" in page and "LoRA of rank 16" in page
    assert "&lt;|im_start|&gt;assistant\n&lt;think&gt;</pre>" in page
    assert 'Shown by the template. The context <span class="mono">full</span> matches it.' in page
    assert 'href="/runs/new/?model.path=tiny"' in page
    assert 'value="tiny"' in browser.get("/runs/new/?model.path=tiny").content.decode()


def test_a_template_that_hides_earlier_thoughts_is_shown_with_the_context_that_matches(
    browser: Client, tmp_path: Path
) -> None:
    page = page_of(browser, str(save_zoo_model(tmp_path, "Qwen3")))
    assert 'Hidden by the template. The context <span class="mono">without_thoughts</span> matches it' in page


def test_what_refuses_a_model_is_shown_and_no_run_is_offered(browser: Client, tmp_path: Path) -> None:
    missing = page_of(browser, str(tmp_path / "gone"))
    assert "Cannot be used:" in missing and "does not exist" in missing
    (tmp_path / "config.json").write_text(json.dumps(WITHOUT_TOKENIZER))
    page = page_of(browser, str(tmp_path))
    assert "Cannot be used:" in page and "Architecture" in page
    assert "Start a run" not in page


def test_a_path_that_looks_like_an_option_is_a_path() -> None:
    assert inspect("--help", 60)["problems"]


def test_an_inspection_that_takes_too_long_is_ended() -> None:
    with pytest.raises(CallFailed, match=r"could not be inspected within 0\.1 s"):
        inspect("tiny", 0.1)


def test_a_model_of_the_hub_is_inspected_at_a_revision(
    browser: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = save_zoo_model(tmp_path / "files", "Qwen3")
    add_commit(tmp_path / "hub", "lab/agent", "1" * 40, files, refs=("v1.0",))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def shown(**query: str) -> str:
        return browser.get("/models/", query).content.decode()

    page = shown(path="lab/agent", revision="v1.0")
    assert "Qwen3ForCausalLM" in page
    assert 'href="/runs/new/?model.path=lab/agent&amp;model.revision=v1.0"' in page
    form = browser.get("/runs/new/?model.path=lab/agent&model.revision=v1.0").content.decode()
    assert 'value="v1.0"' in form
    assert "is not on this machine yet" in shown(path="lab/agent")  # main is not in the cache
    assert "is not the name of a revision" in shown(path="lab/agent", revision="../x")
    assert "the model tiny ships with Starboard, which has no revisions" in shown(path="tiny", revision="v1.0")


def test_a_model_is_inspected_with_an_adapter(browser: Client, tmp_path: Path) -> None:
    model, lora = small_model(), LoraSection(rank=4, alpha=8.0)
    add_adapter(model, lora)
    base, adapter = save_small_model(tmp_path / "base"), tmp_path / "adapter"
    save_adapter(model, lora, adapter, base=ModelConfig(path="lab/base"))
    page = browser.get("/models/", {"path": str(base), "adapter": str(adapter)}).content.decode()
    assert "LoRA of rank 4 and alpha 8.0, 4,096 parameters in 14 layers" in page
    assert 'trained on <span class="mono">lab/base</span>' in page
    assert f"&amp;model.adapter={adapter}" in page
    elsewhere = browser.get("/models/", {"path": str(base), "adapter": "/etc"}).content.decode()
    assert "/etc is not in a folder of models of this installation" in elsewhere
