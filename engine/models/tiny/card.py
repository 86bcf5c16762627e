"""The model card: what the small model is, and its success on held-out problems before any RL.

`python -m engine.models.tiny.card --model NAME DIR` evaluates again and rewrites `DIR/README.md`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from engine.config import build_config
from engine.environments.players import baseline
from engine.evaluation.evaluation import Plan, evaluate
from engine.evaluation.models import LocalModel
from engine.evaluation.seeds import seed_range
from engine.evaluation.summary import Summary
from engine.models.tiny.recipes import RECIPES, TINY, Recipe

EPISODES = 512
TEXT = """# {title}

A Qwen2-architecture language model of {parameters:,} parameters: {layers} layers, width {width}, a byte-level tokenizer
of {vocabulary:,} tokens that encodes any text, input and output embeddings untied. It is bundled with Starboard so that
StarPO can be tried on two CPU cores, and is not useful for anything else.

It imitated {episodes:,} scripted episodes of {imitated}. The players describe
the state correctly, in several wordings, and replace {random:.0%} of their moves by random ones: the model has learned
the format and plays mediocrely. It has had no reinforcement learning.

Built by `python -m engine.models.tiny.build --model {name} --out DIR --seed {seed}`; the data is the same for the same
seed. Problems of the imitation data, of training runs and of the evaluation below come from three disjoint ranges of
seeds, and none of the evaluation's is among the others.

## Before any RL

{count} held-out problems each, one episode per problem, temperature 1, 95% Wilson intervals.

| environment | distinct problems | success | interval | random play | scripted play |
|---|---|---|---|---|---|
{rows}

Measured by `python -m engine.models.tiny.card --model {name} DIR`.
"""


def write(directory: Path, recipe: Recipe, *, seed: int) -> None:
    """Evaluates the model in `directory` and writes its card."""
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.from_pretrained(directory)
    parameters = AutoModelForCausalLM.from_pretrained(directory).num_parameters()
    rollout: dict[str, Any] = {"groups": 4 * len(recipe.measured), "max_context_tokens": recipe.max_context_tokens}
    if recipe.window is not None:
        rollout["context"] = recipe.window.model_dump()
    run = build_config({"environments": list(recipe.measured), "rollout": rollout})
    first = run.evaluation.first_seed
    plan = Plan(
        environments=run.environments, seeds=seed_range(first, EPISODES), samples=1,
        temperatures=[run.evaluation.temperature],
    )  # fmt: skip
    results = evaluate(run, LocalModel(run, str(directory)), plan).summaries
    rows = "\n".join(
        _row(result, random=baseline(environment, "random", episodes=EPISODES, first_seed=first).success,
             scripted=baseline(environment, "scripted", episodes=EPISODES, first_seed=first).success)
        for result, environment in zip(results, run.environments, strict=True)
    )  # fmt: skip
    card = TEXT.format(
        title=recipe.title, imitated=recipe.imitated, name=recipe.name,
        parameters=parameters, layers=config.num_hidden_layers, width=config.hidden_size, vocabulary=config.vocab_size,
        episodes=recipe.episodes, random=recipe.random_share, seed=seed, count=EPISODES, rows=rows,
    )  # fmt: skip
    (directory / "README.md").write_text(card)


def _row(result: Summary, *, random: float, scripted: float) -> str:
    return (
        f"| {result.environment} | {result.problems} | {result.success:.3f} | {result.low:.3f} to {result.high:.3f} "
        f"| {random:.3f} | {scripted:.3f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m engine.models.tiny.card", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--model", choices=sorted(RECIPES), default=TINY.name)
    options = parser.parse_args()
    recipe = RECIPES[options.model]
    write(options.directory, recipe, seed=1)


if __name__ == "__main__":
    main()
