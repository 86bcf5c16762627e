"""Metrics of a step's trajectories, before any update: rewards, success, lengths, parsing, the filter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from engine.rollout.action_parser import PARSE_CASES
from engine.rollout.types import Trajectory


def rollout_metrics(trajectories: list[Trajectory], *, max_turns: Mapping[str, int] | None = None) -> dict[str, float]:
    """Metrics of all trajectories of a step, kept by the filter or not; `max_turns` is by environment tag.

    Rewards and success are means over trajectories that have an outcome. The others, whose environment failed or whose
    first prompt left no room for a response, are counted separately.
    """
    known = [trajectory for trajectory in trajectories if trajectory.has_outcome]
    metrics = {**_rewards(known), **_responses(trajectories), **_mishaps(trajectories)}
    for tag in dict.fromkeys(trajectory.environment for trajectory in trajectories):
        played = [trajectory for trajectory in trajectories if trajectory.environment == tag]
        metrics |= _environment(tag, played) | _turns_used(tag, played, (max_turns or {}).get(tag))
    return metrics


def group_stds(trajectories: list[Trajectory]) -> dict[int, float]:
    """Unbiased standard deviation of raw returns in each group with an outcome; 0 for a group of one."""
    return {group: _std([one.raw_return for one in members]) for group, members in _by_group(trajectories).items()}


def score_std(trajectories: list[Trajectory]) -> float:
    """Mean over groups of the standard deviation of their scores; over all trajectories if no group has two."""
    groups = [[one.score for one in members] for members in _by_group(trajectories).values()]
    if all(len(scores) < 2 for scores in groups):
        return _std([score for scores in groups for score in scores])
    return float(np.mean([_std(scores) for scores in groups]))


def _by_group(trajectories: list[Trajectory]) -> dict[int, list[Trajectory]]:
    groups: dict[int, list[Trajectory]] = {}
    for trajectory in trajectories:
        if trajectory.has_outcome:
            groups.setdefault(trajectory.group, []).append(trajectory)
    return groups


def _std(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _rewards(trajectories: list[Trajectory]) -> dict[str, float]:
    if not trajectories:
        return {}
    scores = np.array([trajectory.score for trajectory in trajectories])
    stds = list(group_stds(trajectories).values())
    return {
        "reward/mean": float(scores.mean()),
        "reward/std": float(scores.std()),
        "reward/min": float(scores.min()),
        "reward/max": float(scores.max()),
        "reward/penalty": float(np.mean([trajectory.penalty for trajectory in trajectories])),
        "reward/length_penalty": float(np.mean([sum(turn.length_penalty for turn in t.turns) for t in trajectories])),
        "reward/within_group_std": float(np.mean(stds)),
        "reward/within_group_score_std": score_std(trajectories),
        "rollout/success": float(np.mean([trajectory.success for trajectory in trajectories])),
        "rollout/zero_variance_share": float(np.mean([std < 1e-9 for std in stds])),
        **_std_variation(stds),
        **_outcomes_of_groups(trajectories),
    }


def _std_variation(stds: list[float]) -> dict[str, float]:
    """Coefficient of variation of the groups' standard deviations; nothing if all are 0."""
    mean = float(np.mean(stds))
    return {"reward/within_group_std_variation": float(np.std(stds)) / mean} if mean > 0 else {}


def _outcomes_of_groups(trajectories: list[Trajectory]) -> dict[str, float]:
    shares = [np.mean([one.success for one in members]) for members in _by_group(trajectories).values()]
    failed, solved = sum(share == 0 for share in shares), sum(share == 1 for share in shares)
    return {
        "rollout/failed_groups": float(failed),
        "rollout/mixed_groups": float(len(shares) - failed - solved),
        "rollout/solved_groups": float(solved),
    }


def _responses(trajectories: list[Trajectory]) -> dict[str, float]:
    turns = [turn for trajectory in trajectories for turn in trajectory.turns]
    count = max(1, len(turns))
    cases = Counter(turn.parsed.case for turn in turns)
    named = sum(len(turn.parsed.actions) for turn in turns)
    invalid = sum(turn.parsed.case == "unknown_action" for turn in turns)
    surplus = [turn.parsed.surplus for turn in turns]
    entropies = sum(trajectory.trained_entropy for trajectory in trajectories)
    trained = sum(trajectory.trained_tokens for trajectory in trajectories)
    sampled = sum(trajectory.response_tokens for trajectory in trajectories)
    lengths = [turn.response_end - turn.response_start for turn in turns]
    metrics = {
        "rollout/response_tokens": sampled / count,
        "rollout/response_tokens_p95": float(np.percentile(lengths, 95)) if lengths else 0.0,
        "rollout/trajectory_tokens": float(np.mean([len(trajectory.ids) for trajectory in trajectories])),
        "rollout/contexts": float(np.mean([len(trajectory.context_starts) for trajectory in trajectories])),
        "rollout/turns": len(turns) / len(trajectories),
        "rollout/parse_ok_rate": cases["ok"] / count,
        "rollout/invalid_action_rate": invalid / count,
        "rollout/cut_off_rate": cases["cut_off"] / count,
        "rollout/actions_per_turn": named / count,
        "rollout/surplus_actions": sum(surplus) / count,
        "rollout/surplus_rate": sum(number > 0 for number in surplus) / count,
        "policy/entropy": entropies / max(1, trained),
    }
    return metrics | {f"rollout/parse/{case}": cases[case] / count for case in PARSE_CASES}


def _mishaps(trajectories: list[Trajectory]) -> dict[str, float]:
    """Shares of what went wrong, each 0 in a run as it should be."""
    parsed: dict[int, bool] = {}
    for trajectory in trajectories:
        valid = any(turn.parsed.well_formed for turn in trajectory.turns)
        parsed[trajectory.group] = parsed.get(trajectory.group, False) or valid
    return {
        "rollout/fault_rate": float(np.mean([bool(trajectory.fault) for trajectory in trajectories])),
        "rollout/close_fault_rate": float(np.mean([bool(trajectory.close_fault) for trajectory in trajectories])),
        "rollout/context_full_rate": float(np.mean([t.stop == "context_full" for t in trajectories])),
        "rollout/no_room_rate": float(np.mean([t.stop == "context_full" and not t.turns for t in trajectories])),
        "rollout/unparsed_groups": float(np.mean([not valid for valid in parsed.values()])),
    }


def _environment(tag: str, played: list[Trajectory]) -> dict[str, float]:
    trajectories = [trajectory for trajectory in played if trajectory.has_outcome]
    faults = {f"env/{tag}/fault_rate": float(np.mean([bool(trajectory.fault) for trajectory in played]))}
    if not trajectories:
        return faults
    turns = [turn for trajectory in trajectories for turn in trajectory.turns]
    frames = [frame for turn in turns for frame in turn.frames]
    return {
        **_info_metrics(tag, trajectories),  # which do not replace those that every environment has
        **faults,
        f"env/{tag}/success": float(np.mean([trajectory.success for trajectory in trajectories])),
        f"env/{tag}/return": float(np.mean([trajectory.raw_return for trajectory in trajectories])),
        f"env/{tag}/turns": float(np.mean([len(trajectory.turns) for trajectory in trajectories])),
        f"env/{tag}/actions": float(np.mean([trajectory.actions for trajectory in trajectories])),
        f"env/{tag}/effective_rate": float(np.mean([frame.effective for frame in frames])) if frames else 0.0,
        f"env/{tag}/parse_ok_rate": float(np.mean([turn.parsed.well_formed for turn in turns])),
        f"env/{tag}/invalid_action_rate": float(np.mean([turn.parsed.case == "unknown_action" for turn in turns])),
    }


def _info_metrics(tag: str, trajectories: list[Trajectory]) -> dict[str, float]:
    """Means of the numbers that the environment's infos have, over the episodes that have them."""
    values: dict[str, list[float]] = {}
    for trajectory in trajectories:
        for name, value in trajectory.info_metrics.items():
            values.setdefault(name, []).append(value)
    return {f"env/{tag}/{name}": float(np.mean(found)) for name, found in values.items()}


def _turns_used(tag: str, played: list[Trajectory], max_turns: int | None) -> dict[str, float]:
    """How much of their turns trajectories took; those that an environment's fault ended tell nothing of it."""
    turns = [len(trajectory.turns) for trajectory in played if trajectory.has_outcome]
    return {f"env/{tag}/turns_used": float(np.mean(turns)) / max_turns} if turns and max_turns else {}
