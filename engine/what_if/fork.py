"""A recorded trajectory replayed up to a turn, then continued differently.

The environment is created again from its seed and given the recorded responses. Each state and each prompt must be the
recorded one, or the fork is refused. The result is a record like any other, which can be forked in turn.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from engine.errors import ConfigError, StarboardError
from engine.rollout.agent_proxy import Player, ResponseSampler
from engine.rollout.context_manager import ContextManager
from engine.rollout.context_windows import Past, Prompt, State, Window
from engine.rollout.types import Response, Turn
from engine.what_if.request import WhatIfRequest

Record = dict[str, Any]
SAME = 1e-9


class ReplayMismatch(StarboardError):
    """The replay differs from the record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """What is replayed of a record, and the edit."""

    record: Record
    turn: int
    responses: list[Response]  # of the turns before, and the edited one if a response was edited
    prompts: dict[int, list[int]]  # token ids of edited prompts, by turn


def fork_of(record: Record, request: WhatIfRequest, context: ContextManager, *, room: int) -> Fork:
    """`ConfigError` where the record has no such turn or no tokens, or the edit cannot be used.

    `room` is the most tokens that a response may have.
    """
    turns = record["turns"]
    if not record["tokens"]["ids"]:
        raise ConfigError(
            "This trajectory has no tokens: it was imported, and its file has only text.",
            remedy="Fork a trajectory that was recorded here.",
        )
    if request.turn >= len(turns):
        raise ConfigError(
            f"It has {len(turns)} turns; there is no turn {request.turn + 1}.", remedy="Choose one of its turns."
        )
    responses = [_recorded_response(record, turn, context.stop_ids) for turn in turns[: request.turn]]
    prompts = _edited_prompts(record, request.turn)
    if request.edit in ("response", "action"):
        responses.append(_edited_response(request, turns[request.turn], context, room=room))
    elif request.edit == "prompt":
        prompts[request.turn] = _edited_ids(_prompt_ids(record, request.turn), request.text, context)
        if not prompts[request.turn]:
            raise ConfigError("The prompt is empty.", remedy="Write a prompt.")
    return Fork(record=record, turn=request.turn, responses=responses, prompts=prompts)


def _edited_prompts(record: Record, until: int) -> dict[int, list[int]]:
    """Prompts that an earlier what-if edited, by turn, up to turn `until`."""
    edited = [turn for turn in record.get("what_if", {}).get("prompts", []) if turn <= until]
    return {turn: _prompt_ids(record, turn) for turn in edited}


def _prompt_ids(record: Record, index: int) -> list[int]:
    turn = record["turns"][index]
    return list(record["tokens"]["ids"][turn["prompt_start"] : turn["response_start"]])


def _edited_ids(recorded: list[int], text: str, context: ContextManager) -> list[int]:
    """Ids of an edited prompt, in which the template's markers are special tokens.

    If an environment wrote the text of one into the prompt, which stays text, the ids before and after the edit are
    kept and only what is between them is encoded.
    """
    before = context.text(recorded)
    if list(context.encode(before)) == recorded:
        return list(context.encode(text))
    head, start = _unchanged(before, text, lambda count: context.text(recorded[:count]), len(recorded))
    rest, tail = recorded[head:], text[start:][::-1]
    last, end = _unchanged(
        before[start:][::-1], tail, lambda count: context.text(rest[len(rest) - count :])[::-1], len(rest)
    )
    middle = text[start : len(text) - end]
    return [*recorded[:head], *context.encode(middle), *rest[len(rest) - last :]]


def _unchanged(before: str, after: str, decode: Callable[[int], str], tokens: int) -> tuple[int, int]:
    """How many of the first tokens spell text at the start of both, and how many characters that is."""
    shorter = min(len(before), len(after))
    common = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    count = bisect_right(range(tokens + 1), common, key=lambda number: len(decode(number))) - 1
    while count and not after.startswith(decode(count)):  # in the middle of a character
        count -= 1
    return count, len(decode(count))


def _recorded_response(record: Record, turn: Record, stops: set[int]) -> Response:
    span = slice(turn["response_start"], turn["response_end"])
    tokens = record["tokens"]
    ids = tokens["ids"][span]
    ended = bool(ids) and ids[-1] in stops
    return Response(row=0, ids=ids, logprobs=tokens["logprobs"][span], entropies=tokens["entropies"][span], ended=ended)


def _edited_response(request: WhatIfRequest, turn: Record, context: ContextManager, *, room: int) -> Response:
    """As if the model had written it and ended. It was not sampled, so it has no log-probabilities."""
    text = request.text
    if request.edit == "action":
        thought = f"<think>{turn['thought']}</think>" if context.opener == "<think>" else ""
        text = f"{thought}<answer>{text}</answer>"
    ids = [*context.encode_text(text.removeprefix(context.opener)), context.turn_end]
    if len(ids) > room:
        raise ConfigError(f"The response has {len(ids)} tokens; at most {room} are allowed here.", remedy="Shorten it.")
    return Response(row=0, ids=ids, logprobs=[0.0] * len(ids), entropies=[0.0] * len(ids), ended=True)


class EditedWindow:
    """A window with edited prompts in some turns; how prompts continue a context is unchanged."""

    def __init__(self, window: Window, fork: Fork) -> None:
        self.window, self.fork = window, fork

    def prompt(self, context: ContextManager, system: str, past: Sequence[Past], now: State) -> Prompt:
        written = self.window.prompt(context, system, past, now)
        edited = self.fork.prompts.get(len(past))
        if edited is None:
            return written
        # who wrote which part of it is not known
        return Prompt(ids=edited, fresh=written.fresh, messages=[{"role": "user", "content": context.text(edited)}])


class ForkSampler:
    """`ResponseSampler` of one row: gives the fork's responses, then those that `inner` samples after them.

    `watch` is called with each prompt, before its response.
    """

    def __init__(self, inner: ResponseSampler, fork: Fork, watch: Callable[[int, list[int]], None]) -> None:
        self.inner, self.fork, self.watch = inner, fork, watch
        self.turn = 0
        self.context: list[int] = []  # ids that `inner` has not read yet
        self.waiting = False

    def submit(self, row: int, ids: list[int], *, max_tokens: int) -> None:
        self.watch(self.turn, ids)
        self.context += ids
        if self.turn < len(self.fork.responses):
            self.waiting = True
            return
        self.inner.submit(row, self.context, max_tokens=max_tokens)
        self.context = []
        self.turn += 1

    def restart(self, row: int) -> None:
        self.context = []
        self.inner.restart(row)

    def advance(self, *, block: bool = True) -> list[Response] | None:
        if not self.waiting:
            return self.inner.advance(block=block)
        self.waiting = False
        response = self.fork.responses[self.turn]
        self.context += response.ids
        self.turn += 1
        return [response]

    def release(self, row: int) -> None:
        self.inner.release(row)


def check_prompt(fork: Fork, player: Player, turn: int, ids: list[int]) -> None:
    """`ReplayMismatch` if the turns before this prompt, or the prompt, differ from the record."""
    if turn > fork.turn:
        return
    record = fork.record
    if turn == 0 and player.trajectory.initial_observation != record["initial"]["observation"]:
        raise _mismatch("The initial state differs from the recorded one.")
    if turn > 0:
        _check_turn(turn - 1, player.trajectory.turns[turn - 1], record["turns"][turn - 1])
    if ids != _prompt_ids(record, turn) and not (turn == fork.turn and turn in fork.prompts):
        raise ReplayMismatch(
            f"The prompt of turn {turn + 1} differs from the recorded one.",
            remedy="The model's chat template or the prompt texts have changed since. Choose a newer run.",
        )


def check_end(fork: Fork, player: Player) -> None:
    """`ReplayMismatch` if the episode ended before the fork."""
    if len(player.trajectory.turns) < fork.turn:
        raise _mismatch(f"The episode ended after turn {len(player.trajectory.turns)}, before the fork.")


def _check_turn(index: int, played: Turn, recorded: Record) -> None:
    frames = recorded["frames"]
    if played.executed != recorded["executed"] or len(played.frames) != len(frames):
        raise _mismatch(f"The actions executed in turn {index + 1} differ from the recorded ones.")
    for number, (frame, then) in enumerate(zip(played.frames, frames, strict=True), start=1):
        if frame.observation != then["observation"]:
            raise _mismatch(f"Action {number} of turn {index + 1} led to a different state than recorded.")
        if abs(frame.reward - then["reward"]) > SAME:
            raise _mismatch(
                f"Action {number} of turn {index + 1} had a reward of {frame.reward:g}, not {then['reward']:g}."
            )


def _mismatch(message: str) -> ReplayMismatch:
    return ReplayMismatch(
        f"The trajectory cannot be replayed: {message}",
        remedy="The environment has changed since, or is not determined by its seed. "
        "Choose a trajectory of a newer run.",
    )
