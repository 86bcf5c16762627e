"""Controls with known answers through a real model: thoughts from a fixed pool, and thoughts that copy their prompt.

A small Qwen2 learns each language in seconds; then its own thoughts are scored under each other's prompts.
"""

from __future__ import annotations

import math
from functools import lru_cache

import pytest
import torch
from torch.nn import functional
from transformers import Qwen2Config, Qwen2ForCausalLM

from engine.diagnostics.cross_scores import cross_score
from engine.diagnostics.mutual_information import MutualInformation, estimate

PROMPTS, POOL, LENGTH = 8, 16, 6
VOCABULARY = 40  # 0 opens a thought, 1 to 8 are prompts, the rest are words


def pool() -> torch.Tensor:
    """(16, 6) the templates: random words."""
    return torch.randint(10, VOCABULARY, (POOL, LENGTH), generator=torch.Generator().manual_seed(1))


def templates(prompts: torch.Tensor, chance: torch.Generator) -> torch.Tensor:
    """Thoughts (B, 6) drawn from the pool, whatever the prompt (B,)."""
    return pool()[torch.randint(0, POOL, (len(prompts),), generator=chance)]


def copies(prompts: torch.Tensor, chance: torch.Generator) -> torch.Tensor:
    """Thoughts (B, 6) of random words with the prompt (B,) among them."""
    thoughts = torch.randint(10, VOCABULARY, (len(prompts), LENGTH), generator=chance)
    thoughts[:, 2] = prompts
    return thoughts


@lru_cache
def control(language: str) -> MutualInformation:
    speak = {"templates": templates, "copies": copies}[language]
    chance = torch.Generator().manual_seed(0)
    model = learned(speak, chance)
    prompts = torch.arange(1, PROMPTS + 1)
    columns = torch.arange(PROMPTS).repeat_interleave(8)
    thoughts = speak(prompts[columns], chance)
    scores = cross_score(model, [[int(p), 0] for p in prompts], thoughts.tolist())
    return estimate(scores, [LENGTH] * len(columns), columns)


def learned(speak: object, chance: torch.Generator) -> Qwen2ForCausalLM:
    torch.manual_seed(0)
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=VOCABULARY, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=16, tie_word_embeddings=False,
        )
    )  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(250):
        prompts = torch.randint(1, PROMPTS + 1, (64,), generator=chance)
        thoughts = speak(prompts, chance)  # type: ignore[operator]
        ids = torch.cat([prompts[:, None], torch.zeros(64, 1, dtype=torch.long), thoughts], dim=1)
        logits = model(input_ids=ids).logits[:, 1:-1]
        functional.cross_entropy(logits.flatten(0, 1), thoughts.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
    return model.eval()


pytestmark = pytest.mark.slow


def test_a_fixed_pool_has_no_mutual_information_and_retrieval_at_chance_though_entropy_is_high() -> None:
    found = control("templates")
    assert abs(found.mi) < 0.1
    assert abs(found.retrieval_accuracy - found.retrieval_chance) < 0.15
    # a thought is one of 16 templates: ln 16 = 2.77 nats, which a policy that always says the same has not
    assert found.conditional_entropy == pytest.approx(math.log(POOL), abs=0.3)


def test_copied_prompts_reach_the_ceiling_and_are_retrieved() -> None:
    found = control("copies")
    assert found.mi == pytest.approx(math.log(PROMPTS), abs=0.1)
    assert found.retrieval_accuracy > 0.95
    assert found.conditional_entropy > 10  # five free words of 30: 17 nats, so entropy alone says nothing


@pytest.mark.parametrize("language", ["templates", "copies"])
def test_reasoning_entropy_is_conditional_entropy_plus_mutual_information(language: str) -> None:
    found = control(language)
    assert found.reasoning_entropy == pytest.approx(found.conditional_entropy + found.mi, abs=1e-9)
