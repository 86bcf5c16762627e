"""Which revision of a model of the Hub is used: weights, configuration and tokenizer of one commit, from the cache."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from engine.__main__ import main
from engine.config import LoraSection, ModelConfig, RunConfig, build_config
from engine.errors import ConfigError, ModelError
from engine.model_export.card import Origin, card
from engine.policies.loading import load_model, stop_token_ids_of
from engine.policies.meta_model import meta_model
from engine.policies.model_paths import check_model_path
from engine.policies.model_shape import folder_of
from engine.policies.vllm_start import arguments_for
from engine.training.checkpoint_settings import weight_settings
from engine.training.session import EXIT_DONE, EXIT_FAILED, train
from tests.engine.hub_cache import add_commit, use_offline
from tests.engine.models import save_small_model, small_model
from tests.engine.training.test_runs import events_of, run_config

AGENT = "lab/agent"
OLD, NEW = "1" * 40, "2" * 40


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits, whose weights, context and responses end differently."""
    for seed, commit, refs in ((1, OLD, ("v1.0", "refs/pr/7")), (2, NEW, ("main",))):
        files = save_small_model(tmp_path / commit, seed=seed)
        for name, entries in (
            ("config.json", {"max_position_embeddings": 600 * seed}),
            ("generation_config.json", {"eos_token_id": seed}),
            ("tokenizer_config.json", {"model_max_length": 600 * seed}),
        ):
            (files / name).write_text(json.dumps({**json.loads((files / name).read_text()), **entries}))
        add_commit(tmp_path / "hub", AGENT, commit, files, refs=refs)
    use_offline(tmp_path / "hub", monkeypatch)
    return tmp_path / "hub"


@pytest.mark.parametrize(
    ("revision", "seed"), [("", 2), ("main", 2), ("v1.0", 1), ("refs/pr/7", 1), (OLD, 1), (NEW, 2)]
)
def test_weights_configuration_and_tokenizer_are_of_the_revision(cache: Path, revision: str, seed: int) -> None:
    path = ModelConfig(path=AGENT, revision=revision).versioned_path
    model, tokenizer = load_model(path)
    assert torch.equal(model.get_input_embeddings().weight, small_model(seed).get_input_embeddings().weight)
    assert model.config.max_position_embeddings == tokenizer.model_max_length == 600 * seed
    assert stop_token_ids_of(path) == {seed}
    parts = meta_model(path, device="cpu", lora=LoraSection()).base_model.weight_source
    assert torch.equal(parts.stored["lm_head.weight"][:], small_model(seed).lm_head.weight)
    assert parts.stored["lm_head.weight"].file.parent == folder_of(path)


def test_a_revision_that_is_not_in_the_cache_is_refused_by_name(cache: Path) -> None:
    with pytest.raises(ModelError) as raised:
        load_model(f"{AGENT}@v2.0")
    assert "'lab/agent@v2.0' could not be loaded" in raised.value.message
    assert "model.revision" in raised.value.remedy
    assert folder_of(f"{AGENT}@v2.0") is None


def test_vllm_reads_the_revision() -> None:
    config, platform = SimpleNamespace(), SimpleNamespace(is_cpu=lambda: False)
    found = arguments_for(f"{AGENT}@v1.0", config, platform, context_tokens=64, rows=1, dtype="float32")
    assert (found["model"], found["revision"]) == (AGENT, "v1.0")


def test_a_directory_or_a_bundled_model_has_no_revision(tmp_path: Path) -> None:
    folder = save_small_model(tmp_path / "model")
    for path, what in (
        (str(folder), "is a directory"),
        ("./gone", "is a directory"),
        ("tiny", "ships with Starboard"),
    ):
        with pytest.raises(ModelError, match=rf"model\.revision 'v1\.0' is given, and the model .* {what}"):
            check_model_path(ModelConfig(path=path, revision="v1.0").versioned_path)
    named = save_small_model(tmp_path / "model@v1.0")  # its own name
    check_model_path(str(named))
    assert folder_of(str(named)) == named


@pytest.mark.parametrize("revision", ["..", "a/../b", "/a", "a//b", ".git", "a b", "a@b", "-x", "a/"])
def test_a_revision_that_is_no_name_of_one_is_refused(revision: str) -> None:
    with pytest.raises(ConfigError, match=r"model\.revision"):
        build_config({"model": {"path": AGENT, "revision": revision}})


def test_a_path_with_a_revision_in_it_is_refused_with_the_two_fields_to_set() -> None:
    both = r"model\.path: .* Set path to 'lab/agent' and revision to 'v1\.0'; .*set path to '\./lab/agent@v1\.0'\."
    with pytest.raises(ConfigError, match=both):
        build_config({"model": {"path": "lab/agent@v1.0"}})


def test_the_revision_is_recorded_with_checkpoints_and_in_the_model_card() -> None:
    config = build_config({"model": {"path": AGENT, "revision": "v1.0"}})
    assert weight_settings(config)["model.revision"] == "v1.0"
    text = card(Origin(run="one", step=1, config=config))
    assert "| base model | lab/agent at revision v1.0 |" in text
    assert 'base_model: "lab/agent"' in text


def test_a_model_is_inspected_at_a_revision(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, context in (([], 1200), (["--revision", "v1.0"], 600)):
        assert main(["inspect-model", AGENT, "--json", *arguments]) == 0
        assert json.loads(capsys.readouterr().out)["context"] == context
    assert main(["inspect-model", "tiny", "--revision", "v1.0"]) == 1
    assert "model.revision 'v1.0' is given" in capsys.readouterr().out


@pytest.mark.slow
def test_a_run_trains_the_revision_and_resumes_with_no_other(cache: Path, tmp_path: Path) -> None:
    model = {"path": AGENT, "revision": "v1.0", "lora": {"rank": 2}}
    config = run_config(tmp_path, model=model, steps=1)
    assert train(config, tmp_path / "run") == EXIT_DONE
    started = events_of(tmp_path / "run")[0]
    assert started.model == "lab/agent@v1.0"
    assert RunConfig.model_validate_json((tmp_path / "run/config.json").read_text()).model.revision == "v1.0"
    base = json.loads((tmp_path / "run/checkpoints/step_1/adapter/adapter_config.json").read_text())
    assert (base["base_model_name_or_path"], base["revision"]) == (AGENT, "v1.0")
    other = run_config(tmp_path, model={**model, "revision": "main"}, steps=2)
    assert train(other, tmp_path / "run", resume=True) == EXIT_FAILED
    assert "model.revision was v1.0 and is now main" in events_of(tmp_path / "run")[-1].message
