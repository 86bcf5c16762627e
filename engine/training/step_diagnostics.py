"""Collapse diagnostics of one step: whether thoughts depend on their prompt, and which are templates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from engine.config import RunConfig
from engine.diagnostics.cross_scores import Pairs, sample_pairs, sample_turns
from engine.diagnostics.mutual_information import SmoothedZScore, estimate
from engine.diagnostics.templates import Templates, Thought, find_templates
from engine.rollout.types import Trajectory
from engine.training.backend import Backend
from engine.training.run_directory import write_json

CLOSE = "</think>"
ContextAndThought = tuple[list[int], list[int]]


class TokenText(Protocol):
    """The part of a `ContextManager` that finds the tokens of a thought."""

    def encode(self, text: str) -> tuple[int, ...]: ...

    def text(self, ids: list[int]) -> str: ...


def collapse_metrics(
    backend: Backend,
    trajectories: Sequence[Trajectory],
    config: RunConfig,
    *,
    step: int,
    smoothed: SmoothedZScore | None = None,
) -> dict[str, float]:
    """Mutual information of context and thought in the configured form, and how many turns have a thought.

    Without two contexts of one environment and two thoughts only the counts are returned. `smoothed` is updated with
    the estimate.
    """
    turns = [turns_of(trajectory, backend.context) for trajectory in trajectories]
    owners = [trajectory.environment for trajectory in trajectories]
    pairs = sample(turns, config, np.random.default_rng([config.seed, step, 3]), owners)
    metrics = _counts(turns)
    if len(pairs.prompts) == len(set(pairs.environments)) or len(pairs.thoughts) < 2:
        return metrics
    lengths = [len(ids) for ids in pairs.thoughts]
    found = estimate(backend.cross_scores(pairs), lengths, pairs.true_column, environments=pairs.environments)
    return metrics | found.to_metrics() | (smoothed.observe(found) if smoothed else {})


def sample(
    turns: Sequence[Sequence[ContextAndThought]],
    config: RunConfig,
    generator: np.random.Generator,
    environments: Sequence[str] | None = None,
) -> Pairs:
    """The thoughts that are scored and the contexts they are scored under; `turns` are those of each trajectory, and
    `environments` whose each trajectory is."""
    settings = config.diagnostics
    owners = environments or [""] * len(turns)
    if settings.form == "trajectory":
        return sample_turns(turns, reasonings=settings.reasonings, generator=generator, environments=owners)
    first = [(played[0], owner) for played, owner in zip(turns, owners, strict=True) if played]
    return sample_pairs(
        [turn for turn, _ in first],
        reasonings=settings.reasonings,
        prompts=settings.prompts,
        generator=generator,
        environments=[owner for _, owner in first],
    )


def template_metrics(
    directory: Path, trajectories: Sequence[Trajectory], config: RunConfig, *, step: int
) -> dict[str, float]:
    """Shares of thoughts that are templates; the clusters go to `directory/step_<n>.json`."""
    thoughts = [
        Thought(
            text=turn.parsed.thought,
            prompt=(trajectory.environment, turn.prompt),
            group=trajectory.group,
            member=trajectory.member,
            turn=index,
            environment=trajectory.environment,
            seed=trajectory.seed,
            state=_state_before(trajectory, index),
        )
        for trajectory in trajectories
        for index, turn in enumerate(trajectory.turns)
        if index == 0 or config.diagnostics.form == "trajectory"
    ]
    similarity = config.diagnostics.template_similarity
    found: Templates = find_templates(thoughts, similarity=similarity, known=_known(directory, before=step))
    directory.mkdir(exist_ok=True)
    write_json(directory / f"step_{step}.json", found.to_json(step=step))
    return found.to_metrics()


def _state_before(trajectory: Trajectory, turn: int) -> str:
    """The observation before a turn: after the last action, or at the start."""
    frames = [frame for earlier in trajectory.turns[:turn] for frame in earlier.frames]
    return frames[-1].observation if frames else trajectory.initial_observation


def _known(directory: Path, *, before: int) -> list[tuple[str, str]]:
    """Keys and texts of the templates of the last step that has them."""
    numbers = [int(path.stem.removeprefix("step_")) for path in directory.glob("step_*.json")]
    earlier = [number for number in numbers if number < before]
    if not earlier:
        return []
    last = json.loads((directory / f"step_{max(earlier)}.json").read_text())
    return [(template["key"], template["text"]) for template in last["templates"]]


def turns_of(trajectory: Trajectory, context: TokenText) -> list[ContextAndThought]:
    """For each turn the ids of its context, opener included, and of its thought."""
    return [
        (trajectory.seen(turn), thought_ids(trajectory.ids[turn.response_start : turn.response_end], context))
        for turn in trajectory.turns
    ]


def _counts(turns: Sequence[Sequence[ContextAndThought]]) -> dict[str, float]:
    """How many turns have a thought; a broken format shows here first."""
    every = [bool(thought) for played in turns for _, thought in played]
    first = [bool(played[0][1]) for played in turns if played]
    return {
        "collapse/valid_thought_rate": sum(every) / max(len(every), 1),
        "collapse/first_turns": float(len(first)),
        "collapse/first_turns_valid": float(sum(first)),
        "collapse/first_turn_valid_rate": sum(first) / max(len(first), 1),
    }


def thought_ids(response: list[int], context: TokenText) -> list[int]:
    """The sampled ids before the closing tag; none where they are blank. A token that holds part of the tag is not of
    the thought."""
    found = _before_close(response, context)
    return found if context.text(found).strip() else []


def _before_close(response: list[int], context: TokenText) -> list[int]:
    close = list(context.encode(CLOSE))
    for start in range(len(response) - len(close) + 1):
        if response[start : start + len(close)] == close:
            return response[:start]
    # some tokenizers join the tag to the word before it, so that it is found in the text only
    position = context.text(response).find(CLOSE)
    return [] if position < 0 else response[: _tokens_within(response, position, context)]


def _tokens_within(response: list[int], characters: int, context: TokenText) -> int:
    """How many tokens from the start have a text of at most `characters` characters."""
    return max(n for n in range(len(response) + 1) if len(context.text(response[:n])) <= characters)
