"""Trajectories as JSON records, for trajectory files and the reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.rollout.types import Trajectory, Turn


def record_of(
    trajectory: Trajectory,
    *,
    step: int,
    split: str,
    piece: Callable[[int], str],
    advantages: list[float] | None = None,
    kept: bool | None = None,
    group_std: float | None = None,
    reason: str = "all",
) -> dict[str, Any]:
    """One record. `piece` returns a token's text, `advantages` has one number per token if they were computed, and
    `reason` is why it is recorded (`engine.rollout.capture`)."""
    trained = trajectory.trained
    return {
        "id": f"{split}-{step}-{trajectory.group}-{trajectory.member}",
        "step": step,
        "split": split,
        "environment": trajectory.environment,
        "kind": trajectory.kind,
        "group": trajectory.group,
        "member": trajectory.member,
        "seed": trajectory.seed,
        "success": trajectory.success,
        "return": trajectory.raw_return,
        "penalty": trajectory.penalty,
        "score": trajectory.score,
        "advantage": _mean_where(trained, advantages, 0, len(trajectory.ids)),
        "kept": kept,
        "group_std": group_std,
        "reason": reason,
        "stop": trajectory.stop,
        "fault": trajectory.fault,
        "close_fault": trajectory.close_fault,
        "info_metrics": trajectory.info_metrics,
        "optimal_length": trajectory.optimal_length,
        "tokens": {
            "ids": trajectory.ids,
            "text": [piece(token) for token in trajectory.ids],
            "sampled": trajectory.sampled,
            "masked": trajectory.masked,
            "logprobs": _rounded(trajectory.logprobs),
            "entropies": _rounded(trajectory.entropies) if trajectory.knows_entropies else None,
            "advantages": _rounded(advantages[: len(trajectory.ids)]) if advantages is not None else None,
        },
        "initial": {"observation": trajectory.initial_observation, "drawing": trajectory.initial_drawing},
        "turns": [_turn(trajectory, index, turn, advantages, trained) for index, turn in enumerate(trajectory.turns)],
    }


def _turn(
    trajectory: Trajectory, index: int, turn: Turn, advantages: list[float] | None, trained: list[int]
) -> dict[str, Any]:
    start, end = turn.response_start, turn.response_end
    count = max(1, end - start)
    return {
        "index": index,
        "prompt": turn.prompt,
        "messages": turn.messages,
        "response": turn.response,
        "context_start": turn.context_start,
        "prompt_start": turn.prompt_start,
        "response_start": start,
        "response_end": end,
        "thought": turn.parsed.thought,
        "parse": turn.parsed.case,
        "parsed": turn.parsed.actions,
        "surplus": turn.parsed.surplus,
        "cut": turn.cut,
        "executed": turn.executed,
        "reward": turn.reward,
        "penalty": turn.penalty,
        "return_to_go": sum(later.reward + later.penalty for later in trajectory.turns[index:]),
        "advantage": _mean_where(trained, advantages, start, end),
        "entropy": sum(trajectory.entropies[start:end]) / count if trajectory.knows_entropies else None,
        "logprob": sum(trajectory.logprobs[start:end]) / count,
        "frames": [
            {
                "action": frame.action,
                "reward": frame.reward,
                "effective": frame.effective,
                "drawing": frame.drawing,
                "observation": frame.observation,
            }
            for frame in turn.frames
        ],
        "info": turn.info,
    }


def _mean_where(marks: list[int], values: list[float] | None, start: int, end: int) -> float | None:
    if values is None:
        return None
    chosen = [value for value, mark in zip(values[start:end], marks[start:end], strict=True) if mark]
    return sum(chosen) / len(chosen) if chosen else None


def _rounded(values: list[float]) -> list[float]:
    return [round(value, 5) for value in values]
