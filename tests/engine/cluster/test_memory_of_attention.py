"""What autograd saves of attention with windows and capped scores, against updates of real models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.cluster.learner_memory import learner_memory
from engine.policies.model_shape import model_shape
from engine.training.checkpoint import load_learner
from tests.engine.cluster.test_memory_of_real_learners import activation_bytes_of
from tests.engine.training.builders import learner_config, made_up_batch, update
from tests.engine.zoo import save_zoo_model

LENGTH, ROWS = 200, 2


@pytest.mark.parametrize("packing", [False, True], ids=["padded", "packs"])
@pytest.mark.parametrize("again", [False, True], ids=["kept", "computed again"])
@pytest.mark.parametrize("name", ["Gemma 2", "Mistral"])
def test_an_update_takes_what_was_estimated(tmp_path: Path, name: str, again: bool, packing: bool) -> None:
    """Without the scores the plan would have half of what Gemma 2 takes."""
    model, tokens = {"path": str(save_zoo_model(tmp_path, name))}, LENGTH * ROWS
    optimizer = {"micro_batch_tokens": tokens, "updates_per_step": 1, "packing": packing}
    config = learner_config(model=model, optimizer={**optimizer, "gradient_checkpointing": again})
    _, learner, _ = load_learner(config, None, device="cpu")
    batch = made_up_batch((LENGTH,) * ROWS)
    update(learner, batch)
    taken = activation_bytes_of(learner, batch)
    plan = learner_memory(
        model_shape(model["path"]),
        tokens=tokens,
        sampled=int(batch.mask.sum()),
        checkpointing=again,
        context=LENGTH,
    )
    assert 0.85 < (plan.gradients + plan.activations) / taken < 1.15


@pytest.mark.parametrize(
    ("config", "windowed"),
    [
        ({"sliding_window": 16}, 2),  # of two layers: which ones is not said
        ({"sliding_window": 16, "layer_types": ["full_attention", "sliding_attention"]}, 1),
        ({"sliding_window": 16, "use_sliding_window": False, "layer_types": None}, 0),
        ({"sliding_window": 16, "layer_types": 5}, 2),
        ({"sliding_window": None}, 0),
    ],
)
def test_layers_with_a_window_are_counted(tmp_path: Path, config: dict[str, Any], windowed: int) -> None:
    file = save_zoo_model(tmp_path, "Qwen3") / "config.json"
    plain = {
        key: value
        for key, value in json.loads(file.read_text()).items()
        if key not in ("layer_types", "use_sliding_window")
    }
    file.write_text(json.dumps(plain | config))
    assert model_shape(str(tmp_path)).windowed_layers == windowed
