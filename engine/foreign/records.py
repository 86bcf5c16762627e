"""Rollouts of other trainers as records of trajectories, as the engine would have written them."""

from __future__ import annotations

from typing import Any

from engine.foreign.rollouts import ForeignTurn, Rollout
from engine.rollout.action_parser import parse_response

Record = dict[str, Any]
UNNAMED = "imported"


def record_of_rollout(
    rollout: Rollout, *, step: int, split: str, group: int, member: int, group_std: float | None
) -> Record:
    score = rollout.score or 0.0
    rewards = _rewards(rollout.turns, score)
    given = rollout.turns[0].given
    return {
        "id": f"{split}-{step}-{group}-{member}",
        "step": step,
        "split": split,
        "environment": rollout.environment or UNNAMED,
        "kind": UNNAMED,
        "group": group,
        "member": member,
        "seed": rollout.seed,
        "success": rollout.success,
        "return": score,
        "penalty": 0.0,
        "score": score,
        "advantage": rollout.advantage,
        "kept": rollout.kept,
        "group_std": group_std,
        "reason": "all",
        "stop": "success" if rollout.success else "unknown",
        "fault": "",
        "optimal_length": None,
        "response_tokens": sum(turn.tokens for turn in rollout.turns),
        "tokens": {
            "ids": [],
            "text": [],
            "sampled": [],
            "masked": [],
            "logprobs": [],
            "entropies": [],
            "advantages": None,
        },
        "initial": {
            "observation": given[-1]["content"] if given else "",
            "drawing": {},
        },
        "turns": [_turn(index, turn, rewards) for index, turn in enumerate(rollout.turns)],
        "facts": rollout.facts,
    }


def _rewards(turns: list[ForeignTurn], score: float) -> list[float]:
    """If the file does not split the score, the last turn gets it."""
    if all(turn.reward is None for turn in turns):
        return [0.0] * (len(turns) - 1) + [score]
    return [turn.reward or 0.0 for turn in turns]


def _turn(index: int, turn: ForeignTurn, rewards: list[float]) -> Record:
    parsed = parse_response(turn.response, think="<think>" in turn.response, max_actions=1000)
    tagged = "<answer>" in turn.response
    actions = parsed.actions if turn.actions is None else turn.actions
    return {
        "index": index,
        "prompt": "\n".join(f"{message['role']}: {message['content']}" for message in turn.given),
        "messages": turn.given,
        "response": turn.response,
        "context_start": 0,
        "prompt_start": 0,
        "response_start": 0,
        "response_end": 0,
        "thought": parsed.thought,
        "parse": parsed.case if tagged else "ok",  # the response format of other trainers is unknown
        "parsed": parsed.actions,
        "surplus": 0,
        "executed": actions,
        "reward": rewards[index],
        "penalty": 0.0,
        "return_to_go": sum(rewards[index:]),
        "advantage": None,
        "entropy": None,
        "logprob": None,
        "frames": [],
        "info": {},
    }
