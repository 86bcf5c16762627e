"""Readers of rollout files of other trainers. No torch; nothing is written.

* verl's `rollout_data_dir` and `validation_data_dir`: `input`, `output`, `score`, `step`, `gts` and other values of the
  reward function. Several turns are one text, with or without chat template markers.
* RAGEN's evaluations and exports: `messages` and `metadata`. The reward after a state belongs to the response that
  follows it; that of the first response is not written, so the first turn gets the remainder of the total.
* Exports of this site, and other chats in that format.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from engine.events import Split
from engine.rollout.chat_text import Message, split_chat, without_end, without_padding

Fields = dict[str, Any]
SUCCESS = ("success", "acc", "correct", "is_correct", "won", "traj_success", "solved")
SCORES = ("score", "total_reward", "return", "reward", "episode_return")
GROUPS = ("group", "group_id", "uid", "prompt_id", "index")
ENVIRONMENTS = ("environment", "env_name", "env", "tag", "data_source", "env_type")
TEXTS = ("input", "prompt", "output", "response", "responses")
LONGEST_NAME = 60
LARGEST = 2**31 - 1
_STATE_REWARD = re.compile(r"\s*\(reward: (?P<reward>[-+.\deE]+)\)\s*\Z")


class NoRollout(ValueError):
    """A line that is not a rollout; its message is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTurn:
    """`given` are the messages since the previous response; `reward` is None if the score is not split.

    `actions` are those that were played, if they are known; `tokens` is 0 if their number is not.
    """

    given: list[Message]
    response: str
    reward: float | None = None
    actions: list[str] | None = None
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """`group` names the prompt: rollouts of a step with equal names are a group. `score` may be None."""

    turns: list[ForeignTurn]
    group: str
    score: float | None
    success: bool
    step: int | None = None
    split: Split | None = None
    member: int | None = None
    seed: int = 0
    environment: str = ""
    advantage: float | None = None
    kept: bool | None = None
    facts: Fields = field(default_factory=dict)  # other values of the line, plain ones only


def read_rollout(line: str | bytes) -> Rollout:
    """`NoRollout` if the line is not a rollout."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise NoRollout(f"it is not JSON: {str(error)[:120]}") from None
    if not isinstance(data, dict):
        raise NoRollout(f"it is a JSON {type(data).__name__}, not an object")
    for key, read in READERS.items():
        if key in data:
            return read(data)
    raise NoRollout(f"it has none of the keys {', '.join(READERS)}")


def _of_verl(data: Fields) -> Rollout:
    prompt, output = _text_of(data, ("input", "prompt")), _text_of(data, ("output", "response", "responses"))
    if output is None:
        raise NoRollout("it has no text under output, so no response")
    first = split_chat(without_padding(prompt or "")) or [{"role": "user", "content": prompt or ""}]
    if first[-1]["role"] == "assistant":  # the opener of the response
        output, first = first[-1]["content"] + output, first[:-1]
    responses = split_chat(without_padding(output), continued_role="assistant")
    responses = responses or [{"role": "assistant", "content": without_end(without_padding(output))}]
    return _rollout(data, _turns([*first, *responses]), group=_group(data) or (prompt or ""))


def _of_chat(data: Fields) -> Rollout:
    messages = data["messages"]
    if not isinstance(messages, list) or not all(_is_message(message) for message in messages):
        raise NoRollout("messages is not a list of objects with role and content")
    facts = data.get("metadata")
    about: Fields = facts if isinstance(facts, dict) else {name: data[name] for name in data if name != "messages"}
    turns = _turns([{"role": m["role"], "content": _content(m["content"])} for m in messages])
    return _rollout(about, _with_rewards(turns, about), group=_group(about) or _first_prompt(turns))


READERS: dict[str, Callable[[Fields], Rollout]] = {
    "messages": _of_chat,
    "output": _of_verl,
    "response": _of_verl,
    "responses": _of_verl,
}


def _turns(messages: list[Message]) -> list[ForeignTurn]:
    """A turn for each response, with the messages since the previous one."""
    turns: list[ForeignTurn] = []
    given: list[Message] = []
    for message in messages:
        if message["role"] != "assistant":
            given.append(message)
            continue
        turns.append(ForeignTurn(given=given, response=message["content"]))
        given = []
    if not turns:
        raise NoRollout("there is no response in it: it has no message from the assistant")
    return turns


def _with_rewards(turns: list[ForeignTurn], about: Fields) -> list[ForeignTurn]:
    """Rewards by turn, from a list of them or from behind the states."""
    listed = about.get("turns")
    if isinstance(listed, list) and len(listed) == len(turns) and all(isinstance(turn, dict) for turn in listed):
        rewards = [_number(turn.get("reward")) for turn in listed]
    else:
        rewards = [_state_reward(turn) for turn in turns]
        if all(reward is None for reward in rewards):
            return turns
        total = _first_number(about, SCORES) or 0.0
        rewards[0] = total - sum(reward or 0.0 for reward in rewards[1:])
    return [
        ForeignTurn(given=turn.given, response=turn.response, reward=reward or 0.0)
        for turn, reward in zip(turns, rewards, strict=True)
    ]


def _state_reward(turn: ForeignTurn) -> float | None:
    found = _STATE_REWARD.search(turn.given[-1]["content"]) if turn.given else None
    try:
        return _number(float(found["reward"])) if found else None
    except ValueError:
        return None


def _rollout(about: Fields, turns: list[ForeignTurn], *, group: str) -> Rollout:
    score = _first_number(about, SCORES)
    return Rollout(
        turns=turns,
        group=group,
        score=score,
        success=_success(about, score),
        step=_whole(about.get("step", about.get("global_step"))),
        split=about.get("split") if about.get("split") in ("train", "validation") else None,
        member=_whole(about.get("member")),
        seed=_whole(about.get("seed")) or 0,
        environment=_environment(about),
        facts={name: value for name, value in about.items() if name not in TEXTS and _is_plain(value)},
    )


def _success(about: Fields, score: float | None) -> bool:
    """By the line's own fields, also those of an environment; otherwise a score of 1 or more.

    RAGEN always writes `success` as false, so its `<tag>/success` comes first.
    """
    named = [value for name, value in about.items() if name.endswith("/success")]
    for value in [*named, *(about[name] for name in SUCCESS if name in about)]:
        if (number := _number(value)) is not None:
            return number >= 0.5
    return score is not None and score >= 1


def _environment(about: Fields) -> str:
    named = next((about[name] for name in ENVIRONMENTS if isinstance(about.get(name), str)), "")
    tagged = next((name.partition("/")[0] for name in about if name.endswith("/success")), "")
    return str(named or tagged)[:LONGEST_NAME]


def _group(about: Fields) -> str:
    found = next((about[name] for name in GROUPS if isinstance(about.get(name), str | int)), None)
    return "" if found is None else str(found)


def _first_prompt(turns: list[ForeignTurn]) -> str:
    return "\n".join(message["content"] for message in turns[0].given)


def _text_of(data: Fields, names: tuple[str, ...]) -> str | None:
    """A text, or the only one of a list of one."""
    for name in names:
        value = data.get(name)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, str):
            return value
    return None


def _is_message(message: Any) -> bool:
    return isinstance(message, dict) and isinstance(message.get("role"), str) and "content" in message


def _content(content: Any) -> str:
    """The text, or the text parts of a content that is a list."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else json.dumps(content)


def _first_number(about: Fields, names: tuple[str, ...]) -> float | None:
    return next((number for name in names if (number := _number(about.get(name))) is not None), None)


def _number(value: Any) -> float | None:
    """A finite number, also for a boolean; None for anything else."""
    if not isinstance(value, bool | int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and abs(number) < 1e30 else None


def _whole(value: Any) -> int | None:
    number = _number(value)
    return int(number) if number is not None and 0 <= number <= LARGEST and number == int(number) else None


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= 1000
    return value is None or _number(value) is not None
