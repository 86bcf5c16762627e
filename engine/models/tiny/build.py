"""Builds a bundled model: `python -m engine.models.tiny.build --model NAME --out DIR`. Equal seeds give equal data.

1. Train a tokenizer on the texts of players and environments.  2. Generate imperfect scripted play.  3. Imitate it with
cross-entropy on the response tokens.  4. Evaluate on held-out problems and write the model card.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from engine.config import EnvironmentConfig
from engine.environments import environment_of
from engine.models.tiny import card, imitation_data, tokenizer
from engine.models.tiny.recipes import RECIPES, TINY, Recipe
from engine.rollout.batching import Batch, collate, micro_batches
from engine.rollout.context_manager import ContextManager
from engine.rollout.prompts import system_prompt
from engine.rollout.types import Trajectory
from engine.training.token_values import logprobs_and_entropies

VOCABULARY, WIDTH, HEADS = 1024, 128, 4
CHUNK, PEAK_RATE = 4096, 3e-3


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m engine.models.tiny.build", description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", choices=sorted(RECIPES), default=TINY.name)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    recipe = RECIPES[options.model]
    torch.manual_seed(options.seed)
    words = learn_tokenizer(options.seed, recipe)
    words.save_pretrained(options.out)
    model = new_model(words, layers=recipe.layers)
    chunks = 0
    for episodes in recipe.passes:
        imitate(model.float(), words, recipe, episodes=episodes, seed=options.seed, first_chunk=chunks)
        chunks += math.ceil(episodes / CHUNK)
        if recipe.half_precision:
            model = model.to(torch.bfloat16)
    model.save_pretrained(options.out, safe_serialization=True)
    card.write(options.out, recipe, seed=options.seed)
    return 0


def learn_tokenizer(seed: int, recipe: Recipe = TINY, *, episodes: int = 2000) -> PreTrainedTokenizerFast:
    """Trained on episodes that were written with a byte tokenizer."""
    plain = tokenizer.learn([], vocabulary=300)
    context = ContextManager(plain, think=True)
    played = imitation_data.play(context, recipe, episodes=episodes, seed=seed)
    texts = [context.text(episode.ids) for episode in played]
    phrases = [*(_prompt_lines(recipe) if recipe.prompt_tokens else []), *recipe.phrases]
    return tokenizer.learn(texts, vocabulary=VOCABULARY, phrases=phrases, split_lines=recipe.split_lines)


def _prompt_lines(recipe: Recipe) -> list[str]:
    """Lines of the system prompts, which a model of this size reads much faster as one token each."""
    configs = [EnvironmentConfig.model_validate(component.config) for component in recipe.mix]
    prompts = [system_prompt(config, environment_of(config), think=True) for config in configs]
    return list(dict.fromkeys(line for prompt in prompts for line in prompt.splitlines()))


def new_model(words: PreTrainedTokenizerFast, *, layers: int = 2) -> Qwen2ForCausalLM:
    """Untied embeddings: vLLM's CPU build keeps the old output layer of tied ones when weights are reloaded."""
    config = Qwen2Config(
        vocab_size=len(words),
        hidden_size=WIDTH,
        intermediate_size=3 * WIDTH,
        num_hidden_layers=layers,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        max_position_embeddings=2048,
        tie_word_embeddings=False,
        eos_token_id=words.eos_token_id,
        pad_token_id=words.pad_token_id,
        bos_token_id=None,
        rope_theta=10000.0,
    )
    return Qwen2ForCausalLM(config)


def imitate(
    model: Qwen2ForCausalLM,
    words: PreTrainedTokenizerFast,
    recipe: Recipe,
    *,
    episodes: int,
    seed: int,
    first_chunk: int,
) -> None:
    """One pass over `episodes` scripted episodes, cosine learning rate."""
    context = ContextManager(words, think=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK_RATE, weight_decay=0.05, betas=(0.9, 0.98))
    updates = episodes // recipe.rows_per_update
    started = time.monotonic()
    for update, batch in enumerate(_batches(context, recipe, episodes, seed, first_chunk), start=1):
        for group in optimizer.param_groups:
            group["lr"] = PEAK_RATE * _schedule((update - 1) / updates)
        loss = _update(model, optimizer, batch)
        if update % 50 == 0:
            sys.stdout.write(f"update {update}/{updates}: loss {loss:.3f}, {time.monotonic() - started:.0f} s\n")
            sys.stdout.flush()


def _batches(context: ContextManager, recipe: Recipe, episodes: int, seed: int, first_chunk: int) -> Iterator[Batch]:
    for chunk in range(first_chunk, first_chunk + math.ceil(episodes / CHUNK)):
        played: list[Trajectory] = imitation_data.play(context, recipe, episodes=CHUNK, seed=seed * 1000 + chunk)
        order = np.random.default_rng([seed, chunk]).permutation(len(played))
        for start in range(0, len(order), recipe.rows_per_update):
            yield collate([played[index] for index in order[start : start + recipe.rows_per_update]])


def _update(model: Any, optimizer: torch.optim.Optimizer, batch: Batch) -> float:
    model.train()
    tokens = batch.mask.sum()
    total = 0.0
    for rows in micro_batches(batch.lengths, max_tokens=4096):
        part = batch.rows(rows)
        logprobs, _ = logprobs_and_entropies(model, part.ids, part.mask, part.contexts, temperature=1.0)
        loss: Tensor = -(logprobs * part.mask).sum() / tokens
        loss.backward()
        total += float(loss.detach())
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    model.eval()
    return total


def _schedule(share: float) -> float:
    warm = min(1.0, share / 0.03)
    return warm * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1.0, share))))


if __name__ == "__main__":
    sys.exit(main())
