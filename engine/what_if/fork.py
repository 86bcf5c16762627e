"""A recorded trajectory played again up to a turn, and then otherwise.

The environment is made again from its seed and given the recorded responses. Each state and each prompt must be the one
that was recorded: a fork of something else would be an answer to another question, and is refused. What came of a fork
is a record like any other, and can be forked in turn.
"""

from __future__ import annotations

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


class Unfaithful(StarboardError):
    """Playing it again does not give what was recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """What of a record is played again, and what stands in place of the rest."""

    record: Record
    turn: int
    responses: list[Response]  # of the turns before, and the edited one if a response was edited
    prompts: dict[int, list[int]]  # ids of those that no window wrote, by turn


def fork_of(record: Record, request: WhatIfRequest, context: ContextManager, *, room: int) -> Fork:
    """`ConfigError` where the record has no such turn or no tokens, or the edit cannot be used.

    `room` is the most tokens that a response may have.
    """
    turns = record["turns"]
    if not record["tokens"]["ids"]:
        raise ConfigError(
            "This trajectory has no tokens: it was imported, and its file has text alone.",
            remedy="Ask it of a trajectory that was recorded here.",
        )
    if request.turn >= len(turns):
        raise ConfigError(f"It has {len(turns)} turns; there is no turn {request.turn + 1}.", remedy="Take one it has.")
    responses = [_recorded_response(record, turn, context.stop_ids) for turn in turns[: request.turn]]
    prompts = _edited_prompts(record, request.turn)
    if request.edit in ("response", "action"):
        responses.append(_edited_response(request, turns[request.turn], context, room=room))
    elif request.edit == "prompt":
        prompts[request.turn] = list(context.encode(request.text))
        if not prompts[request.turn]:
            raise ConfigError("The prompt is empty.", remedy="Write what the model is told.")
    return Fork(record=record, turn=request.turn, responses=responses, prompts=prompts)


def _edited_prompts(record: Record, until: int) -> dict[int, list[int]]:
    """What an earlier what-if was told in place of its window's prompts, by turn, as far as the turn `until`."""
    edited = [turn for turn in record.get("what_if", {}).get("prompts", []) if turn <= until]
    return {turn: _prompt_ids(record, turn) for turn in edited}


def _prompt_ids(record: Record, index: int) -> list[int]:
    turn = record["turns"][index]
    return list(record["tokens"]["ids"][turn["prompt_start"] : turn["response_start"]])


def _recorded_response(record: Record, turn: Record, stops: set[int]) -> Response:
    span = slice(turn["response_start"], turn["response_end"])
    tokens = record["tokens"]
    ids = tokens["ids"][span]
    ended = bool(ids) and ids[-1] in stops
    return Response(row=0, ids=ids, logprobs=tokens["logprobs"][span], entropies=tokens["entropies"][span], ended=ended)


def _edited_response(request: WhatIfRequest, turn: Record, context: ContextManager, *, room: int) -> Response:
    """As if the model had said it and ended; nobody sampled it, so it has no log-probabilities."""
    text = request.text
    if request.edit == "action":
        thought = f"<think>{turn['thought']}</think>" if context.opener == "<think>" else ""
        text = f"{thought}<answer>{text}</answer>"
    ids = [*context.encode(text.removeprefix(context.opener)), context.turn_end]
    if len(ids) > room:
        raise ConfigError(
            f"The response has {len(ids)} tokens, and a response here has {room} at most.", remedy="Shorten it."
        )
    return Response(row=0, ids=ids, logprobs=[0.0] * len(ids), entropies=[0.0] * len(ids), ended=True)


class EditedWindow:
    """A window in which some turns' prompts are others; how it goes on from what was read stays the same."""

    def __init__(self, window: Window, fork: Fork) -> None:
        self.window, self.fork = window, fork

    def prompt(self, context: ContextManager, system: str, past: Sequence[Past], now: State) -> Prompt:
        written = self.window.prompt(context, system, past, now)
        return Prompt(ids=self.fork.prompts.get(len(past), written.ids), fresh=written.fresh)


class ForkSampler:
    """`ResponseSampler` of one row: says the fork's responses, then what `inner` samples after all that was said.

    `watch` is called with each prompt, before anything is said to it.
    """

    def __init__(self, inner: ResponseSampler, fork: Fork, watch: Callable[[int, list[int]], None]) -> None:
        self.inner, self.fork, self.watch = inner, fork, watch
        self.turn = 0
        self.context: list[int] = []  # what `inner` has not read yet
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
    """`Unfaithful` where what came before this prompt, or the prompt, is not as it was recorded."""
    if turn > fork.turn:
        return
    record = fork.record
    if turn == 0 and player.trajectory.initial_observation != record["initial"]["observation"]:
        raise _unfaithful("The first state is another than the one that was recorded.")
    if turn > 0:
        _check_turn(turn - 1, player.trajectory.turns[turn - 1], record["turns"][turn - 1])
    if ids != _prompt_ids(record, turn) and not (turn == fork.turn and turn in fork.prompts):
        raise Unfaithful(
            f"The prompt of turn {turn + 1} is written in another way than when it was recorded.",
            remedy="The model's chat template, or the words of this version, have changed since. Take a newer run.",
        )


def check_end(fork: Fork, player: Player) -> None:
    """`Unfaithful` where the episode was over before the fork was reached."""
    if len(player.trajectory.turns) < fork.turn:
        raise _unfaithful(f"The episode ended after turn {len(player.trajectory.turns)}, before the fork.")


def _check_turn(index: int, played: Turn, recorded: Record) -> None:
    frames = recorded["frames"]
    if played.executed != recorded["executed"] or len(played.frames) != len(frames):
        raise _unfaithful(f"In turn {index + 1} other actions were done than were recorded.")
    for number, (frame, then) in enumerate(zip(played.frames, frames, strict=True), start=1):
        if frame.observation != then["observation"]:
            raise _unfaithful(f"Action {number} of turn {index + 1} led to another state than was recorded.")
        if abs(frame.reward - then["reward"]) > SAME:
            raise _unfaithful(f"Action {number} of turn {index + 1} earned {frame.reward:g}, not {then['reward']:g}.")


def _unfaithful(message: str) -> Unfaithful:
    return Unfaithful(
        f"It cannot be played again: {message}",
        remedy="The environment is of another version than the one that was recorded, or draws what no seed decides. "
        "Take a trajectory of a newer run.",
    )
