"""`python -m engine evaluate`: held-out success of any model directory, printed as JSON lines."""

from __future__ import annotations

import json
import os
import sys

import torch

from engine.config import RunConfig
from engine.policies.loading import context_limit, load_model, stop_ids
from engine.rollout.agent_proxy import AgentProxy
from engine.rollout.context_manager import ContextManager
from engine.rollout.context_windows import window_of
from engine.rollout.env_state_manager import EnvStateManager
from engine.training.evaluator import Evaluation, evaluate


def evaluate_model(config: RunConfig, *, model: str | None = None, episodes: int | None = None) -> list[Evaluation]:
    """One evaluation per environment of `config`, of `model` or else the config's own."""
    torch.set_num_threads(config.threads or os.cpu_count() or 1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    loaded, tokenizer = load_model(model or config.model.path, device=device)
    context = ContextManager(tokenizer, think=config.rollout.think)
    proxy = AgentProxy(
        context,
        think=config.rollout.think,
        max_context_tokens=context_limit(loaded, config.rollout.max_context_tokens),
        window=window_of(config.rollout),
    )
    manager = EnvStateManager(config.environments, groups=1, group_size=1, seed=config.seed)
    return [
        evaluate(
            loaded,
            proxy,
            manager,
            environment,
            config,
            episodes=episodes or config.evaluation.final_episodes,
            stop_ids=stop_ids(loaded, tokenizer),
        )
        for environment in config.environments
    ]


def print_evaluations(config: RunConfig, *, model: str | None, episodes: int | None) -> int:
    for evaluation in evaluate_model(config, model=model, episodes=episodes):
        sys.stdout.write(json.dumps(evaluation.fields()) + "\n")
    return 0
