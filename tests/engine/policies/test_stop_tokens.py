"""Tokens that end a reply, told with and without a model's weights."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.policies.loading import load_model, stop_ids, stop_ids_of
from tests.engine.models import save_small_model


@pytest.mark.parametrize("told_apart", [True, False])
def test_a_models_files_tell_the_same_stop_tokens_as_the_model(tmp_path: Path, told_apart: bool) -> None:
    path = save_small_model(tmp_path)
    if not told_apart:
        (path / "generation_config.json").unlink()
    model, tokenizer = load_model(str(path))
    assert stop_ids_of(str(path), tokenizer) == stop_ids(model, tokenizer)
    assert tokenizer.eos_token_id in stop_ids_of(str(path), tokenizer)
