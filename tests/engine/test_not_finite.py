"""A model whose weights are not numbers: nothing plays on with it as if it had chosen its tokens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.__main__ import main
from engine.errors import ModelError
from engine.policies.loading import load_model
from engine.training.session import EXIT_FAILED, train
from tests.engine.models import save_small_model, words
from tests.engine.training.test_runs import events_of, run_config

MESSAGE = "The policy's logits are not finite (NaN or infinite)"


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Of one token's embedding, which is in every prompt and not in the check when a model is loaded."""
    return model_with_nan(
        tmp_path / "model", "model.embed_tokens.weight", words().convert_tokens_to_ids("<|im_start|>")
    )


def model_with_nan(folder: Path, weight: str, index: int) -> Path:
    path = save_small_model(folder)
    weights = load_file(path / "model.safetensors")
    weights[weight][index] = torch.nan
    save_file(weights, path / "model.safetensors", metadata={"format": "pt"})
    return path


def test_it_is_refused_when_it_is_loaded_if_it_computes_nothing_at_all(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="logits are not finite"):
        load_model(str(model_with_nan(tmp_path, "model.norm.weight", 0)))


def test_a_run_that_starts_with_it_fails_and_says_so(broken: Path, tmp_path: Path) -> None:
    assert train(run_config(broken), tmp_path / "run") == EXIT_FAILED
    failure = events_of(tmp_path / "run")[-1]
    assert (failure.kind, failure.error) == ("run_failed", "ModelError")
    assert MESSAGE in failure.message
    assert not any(event.kind == "evaluation_completed" for event in events_of(tmp_path / "run"))


def test_its_evaluation_has_no_result(broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(run_config(broken).model_dump(mode="json")))
    assert main(["evaluate", str(config), "--out", str(tmp_path / "out")]) == 1
    assert MESSAGE in capsys.readouterr().err
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert not summary["complete"]
    assert [(one["scored"], one["success"]) for one in summary["summaries"]] == [(0, None)]
    assert MESSAGE in summary["failure"]


def test_its_pre_flight_fails_and_says_so(broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = tmp_path / "lake.json"
    lake.write_text(json.dumps({"kind": "frozen_lake", "max_response_tokens": 10}))
    options = ["--model", str(broken), "--problems", "2", "--rollouts", "2"]
    assert main(["preflight", str(lake), "--out", str(tmp_path / "report.json"), *options]) == 1
    assert MESSAGE in capsys.readouterr().err
