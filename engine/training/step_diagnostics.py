"""Collapse diagnostics of one step: does the first turn's reasoning still depend on its prompt?"""

from __future__ import annotations

import numpy as np

from engine.config import RunConfig
from engine.diagnostics.cross_scores import cross_score
from engine.diagnostics.mutual_information import estimate
from engine.policies.loading import LanguageModel
from engine.rollout.context_manager import ContextManager
from engine.rollout.types import Trajectory


def collapse_metrics(
    model: LanguageModel, context: ContextManager, trajectories: list[Trajectory], config: RunConfig, *, step: int
) -> dict[str, float]:
    """Mutual information of prompt and first thought: M thoughts scored under N prompts; empty below two prompts."""
    chooser = np.random.default_rng([config.seed, step, 3])
    prompts = _distinct_prompts(trajectories, config.diagnostics.prompts, chooser)
    thoughts = _thoughts(trajectories, prompts, context)
    if len(prompts) < 2 or len(thoughts) < 2:
        return {}
    picked = chooser.permutation(len(thoughts))[: config.diagnostics.reasonings]
    chosen = [thoughts[index] for index in sorted(picked)]
    columns = list(prompts)
    scores = cross_score(
        model, [list(prompt) for prompt in columns], [ids for _, ids in chosen], temperature=config.rollout.temperature
    )
    result = estimate(
        scores.double().cpu().numpy(),
        np.array([len(ids) for _, ids in chosen]),
        np.array([prompts[prompt] for prompt, _ in chosen]),
    )
    return result.to_metrics()


def _distinct_prompts(
    trajectories: list[Trajectory], limit: int, chooser: np.random.Generator
) -> dict[tuple[int, ...], int]:
    """At most `limit` different first prompts, each with its column."""
    found = list(dict.fromkeys(first_prompt(trajectory) for trajectory in trajectories if trajectory.turns))
    picked = sorted(chooser.permutation(len(found))[:limit])
    return {found[index]: column for column, index in enumerate(picked)}


def _thoughts(
    trajectories: list[Trajectory], prompts: dict[tuple[int, ...], int], context: ContextManager
) -> list[tuple[tuple[int, ...], list[int]]]:
    """`(prompt, thought ids)` of first turns with a thought; the ids are the sampled ones, up to the closing tag."""
    close = len(context.encode("</think>"))
    found = []
    for trajectory in trajectories:
        if not trajectory.turns or first_prompt(trajectory) not in prompts:
            continue
        turn = trajectory.turns[0]
        ids = trajectory.ids[turn.reply_start : turn.reply_end]
        end = _find(ids, list(context.encode("</think>"))) if close else -1
        if end > 0:
            found.append((first_prompt(trajectory), ids[:end]))
    return found


def first_prompt(trajectory: Trajectory) -> tuple[int, ...]:
    return tuple(trajectory.ids[: trajectory.turns[0].reply_start])


def _find(ids: list[int], part: list[int]) -> int:
    """Where `part` begins in `ids`, -1 if nowhere."""
    return next((i for i in range(len(ids) - len(part) + 1) if ids[i : i + len(part)] == part), -1)
