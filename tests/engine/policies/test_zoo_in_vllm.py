"""Every architecture of the zoo in vLLM: it computes what the learner does, of tokens that are given and of those that
it samples, before and after new weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from engine.errors import ModelError
from engine.policies.vllm_engine import VllmEngine
from tests.engine.policies.vllm_builders import logprobs_of, needs_vllm, random_ids
from tests.engine.zoo import ZOO, save_zoo_model, zoo_model

pytestmark = [pytest.mark.slow, needs_vllm]

HEADS = 32  # the narrowest of vLLM's attention on a CPU
REFUSED = "Qwen2, a window in its later layer"
SAME_CLASSES = {"DeepSeek-R1-Distill", "SmolLM2"}  # of Qwen2 and Llama, with other templates
NOT_OFFERED = {"DeepSeek V3"}  # with this sampler, see `unsupported_by_vllm`
PROMPT, RESPONSE = 40, 30  # tokens; together more than the windows of the zoo


def check_against(learner: Any, engine: VllmEngine) -> None:
    """Log-probabilities of given tokens, and of a response that is sampled token by token after a cached prompt."""
    ids = random_ids(60, vocabulary=learner.config.vocab_size)
    assert engine.score([ids]) == [pytest.approx(logprobs_of(learner, ids), abs=1e-4)]
    for seed in (1, 2):
        engine.submit(ids[:PROMPT], max_tokens=RESPONSE, temperature=1.0, seed=seed, stop_ids=[])
        completions = []
        while engine.open_requests:
            completions += engine.step()
        (response,) = completions
        assert len(response.ids) == RESPONSE
        expected = logprobs_of(learner, ids[:PROMPT] + response.ids)[PROMPT - 1 :]
        assert response.logprobs == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", sorted(ZOO.keys() - {REFUSED} - SAME_CLASSES - NOT_OFFERED))
def test_vllm_scores_and_samples_tokens_as_the_learner_before_and_after_new_weights(tmp_path: Path, name: str) -> None:
    """vLLM's own reload leaves experts of its CPU build unpacked: 5 nats off."""
    path = save_zoo_model(tmp_path, name, head_size=HEADS)
    learner = zoo_model(name, head_size=HEADS, attention="eager")  # sdpa ignores the cap of Gemma 2's attention
    with VllmEngine(str(path), max_context_tokens=200, rows=4) as engine:
        check_against(learner, engine)
        for seed in (1, 2):
            torch.manual_seed(seed)
            with torch.no_grad():
                for weight in learner.parameters():
                    weight.add_(0.1 * torch.randn_like(weight))
            engine.load_weights(learner.named_parameters())
            check_against(learner, engine)


def test_windows_in_some_layers_only_are_refused_where_vllm_has_none(tmp_path: Path) -> None:
    path = save_zoo_model(tmp_path, REFUSED, head_size=HEADS)
    with pytest.raises(ModelError, match=r"vLLM cannot run .*: .*Sliding window for some but all layers"):
        VllmEngine(str(path), max_context_tokens=200, rows=4)
