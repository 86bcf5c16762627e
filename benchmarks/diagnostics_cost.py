"""What collapse diagnostics cost: each prompt encoded once and lent to all thoughts, next to all pairs in full.

    python -m benchmarks.diagnostics_cost --form trajectory

RAGEN scores every thought under every prompt by feeding prompt and thought together. Both ways get the same thoughts
of one real rollout and take turns; the ratio of their median times is what counts, and the largest difference between
their numbers shows that they compute the same.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from engine.config import RunConfig, read_config
from engine.cpu_threads import limit_thread_spinning
from engine.diagnostics.cross_scores import Pairs, cross_score
from engine.policies.batched_sampler import BatchedSampler
from engine.policies.loading import LanguageModel, load_model, logits_of, stop_token_ids
from engine.rollout.agent_proxy import AgentProxy
from engine.rollout.context_manager import ContextManager
from engine.rollout.env_state_manager import EnvStateManager
from engine.training.step_diagnostics import sample, turns_of

STARTER = Path(__file__).parent.parent / "engine" / "configs" / "starter.toml"
SEQUENCES = 64  # whole sequences in one forward pass of the naive way


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path, nargs="?", default=STARTER)
    parser.add_argument("--form", choices=["first_turn", "trajectory"], default="first_turn")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each way that count, after one that does not")
    options = parser.parse_args()
    limit_thread_spinning()
    config = read_config(options.config, [f"diagnostics.form={options.form}"])
    print(json.dumps({"benchmark": "diagnostics_cost", "form": options.form, **measure(config, options.rounds)}))
    return 0


def measure(config: RunConfig, rounds: int) -> dict[str, float]:
    """Seconds of both ways and of the rollout that the thoughts are from, as medians, and the ratio."""
    torch.manual_seed(config.seed)
    model, pairs, rollout_seconds = rollout(config)
    lengths = sorted(map(len, pairs.thoughts))

    def reused() -> Tensor:
        return cross_score(model, pairs.prompts, pairs.thoughts, temperature=config.rollout.temperature)

    def naive() -> Tensor:
        return all_pairs(model, pairs, temperature=config.rollout.temperature)

    difference = float((reused() - naive()).abs().max())
    seconds: dict[str, list[float]] = {"reused": [], "naive": []}
    for _ in range(rounds):
        for name, way in (("reused", reused), ("naive", naive)):
            seconds[name].append(timed(way))
    ours, theirs = statistics.median(seconds["reused"]), statistics.median(seconds["naive"])
    return {
        "thoughts": len(pairs.thoughts),
        "prompts": len(pairs.prompts),
        "median_prompt_tokens": statistics.median(map(len, pairs.prompts)),
        "median_thought_tokens": lengths[len(lengths) // 2],
        "seconds_prefix_reuse": round(ours, 4),
        "seconds_all_pairs": round(theirs, 4),
        "ratio": round(theirs / ours, 2),
        "rollout_seconds": round(rollout_seconds, 3),
        "largest_difference_nats": round(difference, 6),
    }


def rollout(config: RunConfig) -> tuple[LanguageModel, Pairs, float]:
    """A real batch of trajectories, and the thoughts that a run would score on its first step."""
    model, tokenizer = load_model(config.model.path)
    think = config.rollout.think
    context = ContextManager(tokenizer, think=think, stops=stop_token_ids(model))
    manager = EnvStateManager(
        config.environments, groups=config.rollout.groups, group_size=config.rollout.group_size, seed=config.seed
    )
    specs = manager.training_batch(1)
    sampler = BatchedSampler(
        model,
        rows=len(specs),
        stop_ids=context.stop_ids,
        temperature=config.rollout.temperature,
        seeds=[config.seed, 1, 1],
    )
    proxy = AgentProxy(context, think=think, max_context_tokens=config.rollout.max_context_tokens)
    began = time.monotonic()
    trajectories = proxy.rollout(sampler, specs)
    seconds = time.monotonic() - began
    turns = [turns_of(trajectory, context) for trajectory in trajectories]
    return model, sample(turns, config, np.random.default_rng(config.seed)), seconds


@torch.inference_mode()
def all_pairs(model: LanguageModel, pairs: Pairs, *, temperature: float) -> Tensor:
    """`(M, N)` scores by feeding prompt and thought together, a column of whole sequences at a time."""
    return torch.stack([_column(model, prompt, pairs.thoughts, temperature) for prompt in pairs.prompts], dim=1)


def _column(model: LanguageModel, prompt: list[int], thoughts: list[list[int]], temperature: float) -> Tensor:
    parts = [thoughts[start : start + SEQUENCES] for start in range(0, len(thoughts), SEQUENCES)]
    return torch.cat([_whole_sequences(model, prompt, part, temperature) for part in parts])


def _whole_sequences(model: LanguageModel, prompt: list[int], thoughts: list[list[int]], temperature: float) -> Tensor:
    rows = [[*prompt, *thought] for thought in thoughts]
    width = max(map(len, rows))
    ids = torch.tensor([row + [0] * (width - len(row)) for row in rows])  # (M, T)
    mask = torch.tensor(
        [[0] * (len(prompt) - 1) + [1] * len(t) + [0] * (width - len(prompt) - len(t)) for t in thoughts]
    )
    hidden = model.base_model(input_ids=ids, use_cache=False).last_hidden_state[:, :-1]  # (M, T - 1, D)
    chosen = mask.bool()  # (M, T - 1): where a thought's token is predicted
    logprobs = torch.log_softmax(logits_of(model, hidden[chosen]).float() / temperature, dim=-1)
    scores = torch.zeros(chosen.shape)
    scores[chosen] = logprobs.gather(-1, ids[:, 1:][chosen][:, None]).squeeze(-1)
    return scores.sum(dim=1)


def timed(work: Callable[[], Tensor]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
