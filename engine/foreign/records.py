"""Rollouts of other trainers as records of trajectories, as the engine would have written them."""

from __future__ import annotations

from typing import Any

from engine.foreign.rollouts import ForeignTurn, Rollout
from engine.rollout.action_parser import SEPARATOR, parse_response
from engine.rollout.chat_text import Message

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
        "initial": _state(given),
        "turns": [
            _turn(index, turn, rewards, following)
            for index, (turn, following) in enumerate(zip(rollout.turns, [*rollout.turns[1:], None], strict=True))
        ],
        "facts": rollout.facts,
    }


def _rewards(turns: list[ForeignTurn], score: float) -> list[float]:
    """If the file does not split the score, the last turn gets it."""
    if all(turn.reward is None for turn in turns):
        return [0.0] * (len(turns) - 1) + [score]
    return [turn.reward or 0.0 for turn in turns]


def _state(given: list[Message]) -> Record:
    """What the model saw last, which is all that is known of the environment's state."""
    text = given[-1]["content"] if given else ""
    return {"observation": text, "drawing": {"type": "text", "text": text} if text else {}}


def _frames(turn: ForeignTurn, following: ForeignTurn | None, actions: list[str], reward: float) -> list[Record]:
    """One for all actions of the turn, if what they led to was seen in the next one."""
    if following is None or not following.given or not actions:
        return []
    before, after = _state(turn.given), _state(following.given)
    return [{"action": f" {SEPARATOR} ".join(actions), "reward": reward, "effective": after != before, **after}]


def _turn(index: int, turn: ForeignTurn, rewards: list[float], following: ForeignTurn | None) -> Record:
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
        "frames": _frames(turn, following, actions, rewards[index]),
        "info": {},
    }
