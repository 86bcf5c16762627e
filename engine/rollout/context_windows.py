"""Context windows: what the model sees of earlier turns in the prompt of the next one.

A window turns the turns so far into the ids of the next prompt. Responses enter it as the ids that were sampled and are
never encoded again. A prompt either continues what the model has read or starts a new context; the sampler, the
trajectory and the trainer all follow that. Each window is a class with its settings; `ContextWindow` is their union.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, Protocol

from pydantic import Field

from engine.rollout import prompts
from engine.rollout.prompts import Message
from engine.section import Section, union_variants

if TYPE_CHECKING:
    from engine.rollout.context_manager import ContextManager


END_THOUGHT = "</think>"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The state at the start of a turn."""

    observation: str
    actions_left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A past turn: its state, the sampled ids and their text, and their result."""

    state: State
    response: list[int]
    text: str
    executed: list[str]
    reward: float
    valid: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Ids to submit. If `fresh` they are the whole context; otherwise they continue from the last response.

    `messages` are those that the ids were made from: who wrote what is never read from the text.
    """

    ids: list[int]
    fresh: bool
    messages: list[Message]


class Window(Protocol):
    def prompt(self, context: ContextManager, system: str, past: Sequence[Past], now: State) -> Prompt:
        """The prompt of the turn that starts in the state `now`, after the turns `past`."""


class FullContext(Section):
    """Every turn verbatim: each prompt continues from the last response."""

    type: Literal["full"] = "full"

    def prompt(self, context: ContextManager, system: str, past: Sequence[Past], now: State) -> Prompt:
        if past:
            user = _following(past[-1], now)
            ids = context.following(user, response=past[-1].response)
            return Prompt(ids=list(ids), fresh=False, messages=[{"role": "user", "content": user}])
        return _first(context, system, prompts.first_turn(now.observation, actions_left=now.actions_left))


class LastTurns(Section):
    """The last `turns` turns verbatim, the present one included, after the system prompt.

    Until that many were played it is the full context. From then on each turn starts a new context, whose first message
    shows the oldest state in the window as if the episode started there.
    """

    type: Literal["last_k_turns"] = "last_k_turns"
    turns: int = Field(
        3, ge=1, le=200, description="Turns in the window, including the current one; 1 shows no earlier turn."
    )

    def prompt(self, context: ContextManager, system: str, past: Sequence[Past], now: State) -> Prompt:
        if len(past) < self.turns:
            return FullContext().prompt(context, system, past, now)
        shown = past[len(past) - self.turns + 1 :]
        states = [*(turn.state for turn in shown), now]
        oldest = states[0]
        prompt = _first(context, system, prompts.first_turn(oldest.observation, actions_left=oldest.actions_left))
        for turn, state in zip(shown, states[1:], strict=True):
            user = _following(turn, state)
            prompt.ids.extend([*turn.response, *context.following(user, response=turn.response)])
            prompt.messages.append({"role": "assistant", "content": turn.text})
            prompt.messages.append({"role": "user", "content": user})
        return prompt


class TurnSummary(Section):
    """One message a turn: earlier states, actions and rewards as a list, then the present state.

    The model's own responses are not in it.
    """

    type: Literal["single_turn_summary"] = "single_turn_summary"
    turns: int = Field(
        0, ge=0, le=200, description="Turns in the list, including the current one. 0: all turns of the episode."
    )

    def prompt(self, context: ContextManager, system: str, past: Sequence[Past], now: State) -> Prompt:
        shown = past[max(0, len(past) - self.turns + 1) :] if self.turns else past
        lines = [
            prompts.summary_line(turn.state.observation, executed=turn.executed, reward=turn.reward, valid=turn.valid)
            for turn in shown
        ]
        return _first(context, system, prompts.summary_turn(lines, now.observation, actions_left=now.actions_left))


class WithoutThoughts(Section):
    """Every turn, but of earlier responses only what follows the thought, as templates of reasoning models show them
    (Qwen3, R1 distillations). Each turn starts a new context: what the model reads, in training as in deployment, is
    what the template makes of the conversation.

    Earlier responses are encoded again, without their thoughts. One that has no `</think>` is shown whole, as those
    templates do.
    """

    type: Literal["without_thoughts"] = "without_thoughts"

    def prompt(self, context: ContextManager, system: str, past: Sequence[Past], now: State) -> Prompt:
        if not past:
            return FullContext().prompt(context, system, past, now)
        states = [*(turn.state for turn in past[1:]), now]
        users = [prompts.first_turn(past[0].state.observation, actions_left=past[0].state.actions_left)]
        users += [_following(turn, state) for turn, state in zip(past, states, strict=True)]
        answers = [without_thought(turn.text) for turn in past]
        messages = [{"role": "system", "content": system}, {"role": "user", "content": users[0]}]
        for answer, user in zip(answers, users[1:], strict=True):
            messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": user}]
        return Prompt(ids=list(context.conversation(messages)), fresh=True, messages=messages)


def without_thought(response: str) -> str:
    """What follows the last thought."""
    return response.rpartition(END_THOUGHT)[2].lstrip("\n")


ContextWindow = Annotated[FullContext | LastTurns | TurnSummary | WithoutThoughts, Field(discriminator="type")]
WINDOWS = union_variants(ContextWindow)


def _first(context: ContextManager, system: str, user: str) -> Prompt:
    """A prompt that starts a context."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return Prompt(ids=list(context.first(system, user)), fresh=True, messages=messages)


def _following(last: Past, now: State) -> str:
    """The user's message between the response of `last` and the response to `now`."""
    return prompts.next_turn(now.observation, reward=last.reward, actions_left=now.actions_left, valid=last.valid)
