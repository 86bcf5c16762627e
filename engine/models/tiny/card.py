"""The model card: what the small model is, and its success on held-out problems before any RL.

`python -m engine.models.tiny.card DIR` evaluates again and rewrites `DIR/README.md`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from engine.config import build_config
from engine.environments.players import baseline
from engine.evaluation.evaluation import Plan, evaluate
from engine.evaluation.models import LocalModel
from engine.evaluation.seeds import seed_range
from engine.evaluation.summary import Summary

EPISODES = 512
MEASURED = (
    {"kind": "frozen_lake", "tag": "FrozenLake"},
    {"kind": "frozen_lake", "tag": "FrozenLake, slippery (0.8)", "parameters": {"success_rate": 0.8}},
    {"kind": "sokoban", "tag": "Sokoban"},
    {"kind": "bandit", "tag": "Bandit"},
)
TEXT = """# Starboard tiny

A Qwen2-architecture language model of {parameters:,} parameters: {layers} layers, width {width}, a byte-level tokenizer
of {vocabulary:,} tokens that encodes any text, input and output embeddings untied. It is bundled with Starboard so that
StarPO can be tried on two CPU cores, and is not useful for anything else.

It imitated {episodes:,} scripted episodes of Bandit, FrozenLake and Sokoban. The players describe the state
correctly, in several wordings, and replace {random:.0%} of their moves by random ones: the model has learned the format
and plays mediocrely. It has had no reinforcement learning.

Built by `python -m engine.models.tiny.build --out DIR --seed {seed}`; the data is the same for the same seed. Problems
of the imitation data, of training runs and of the evaluation below come from three disjoint ranges of seeds.

## Before any RL

{count} held-out problems each, one episode per problem, temperature 1, 95% Wilson intervals.

| environment | success | interval | random play | optimal play |
|---|---|---|---|---|
{rows}

Measured by `python -m engine.models.tiny.card DIR`.
"""


def write(directory: Path, *, episodes: int, seed: int) -> None:
    """Evaluates the model in `directory` and writes its card."""
    from transformers import AutoConfig, AutoModelForCausalLM

    from engine.models.tiny.imitation_data import RANDOM_SHARE

    config = AutoConfig.from_pretrained(directory)
    parameters = AutoModelForCausalLM.from_pretrained(directory).num_parameters()
    run = build_config({"environments": list(MEASURED), "rollout": {"groups": 4 * len(MEASURED)}})
    first = run.evaluation.first_seed
    plan = Plan(
        environments=run.environments, seeds=seed_range(first, EPISODES), samples=1,
        temperatures=[run.evaluation.temperature],
    )  # fmt: skip
    results = evaluate(run, LocalModel(run, str(directory)), plan).summaries
    rows = "\n".join(
        _row(result, random=baseline(environment, "random", episodes=EPISODES, first_seed=first).success,
             optimal=baseline(environment, "scripted", episodes=EPISODES, first_seed=first).success)
        for result, environment in zip(results, run.environments, strict=True)
    )  # fmt: skip
    card = TEXT.format(
        parameters=parameters, layers=config.num_hidden_layers, width=config.hidden_size, vocabulary=config.vocab_size,
        episodes=episodes, random=RANDOM_SHARE, seed=seed, count=EPISODES, rows=rows,
    )  # fmt: skip
    (directory / "README.md").write_text(card)


def _row(result: Summary, *, random: float, optimal: float) -> str:
    return (
        f"| {result.environment} | {result.success:.3f} | {result.low:.3f} to {result.high:.3f} "
        f"| {random:.3f} | {optimal:.3f} |"
    )


if __name__ == "__main__":
    write(Path(sys.argv[1]), episodes=49152, seed=1)
