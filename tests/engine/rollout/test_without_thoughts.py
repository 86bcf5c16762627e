"""The window for templates that hide earlier thoughts: the model reads what the template makes of the conversation."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from engine.policies.batched_sampler import BatchedSampler
from engine.policies.openai_policy import ChatContext
from engine.rollout.agent_proxy import AgentProxy
from engine.rollout.batching import collate
from engine.rollout.context_manager import ContextManager
from engine.rollout.context_windows import Past, State, WithoutThoughts, without_thought
from engine.rollout.types import Trajectory
from engine.training.token_values import logprobs_and_entropies
from tests.engine.chat_templates import tokenizer_of
from tests.engine.rollout.builders import Script, lake_config, specs_of
from tests.engine.zoo import zoo_model

SAID = ["left is ice</think><answer>Left</answer>", "now down</think><answer>Down</answer>"]


def play(family: str, responses: list[Any], **lake: Any) -> tuple[ContextManager, list[Trajectory]]:
    config = lake_config(rollout={"context": {"type": "without_thoughts"}}, max_response_tokens=40, **lake)
    context = ContextManager(tokenizer_of(family), think=True)
    proxy = AgentProxy.of(config.rollout, context, max_context_tokens=1024)
    return context, proxy.rollout(Script(responses), specs_of(config))


@pytest.mark.parametrize("family", ["Qwen3", "DeepSeek-R1-Distill"])
def test_each_turn_reads_exactly_what_a_template_that_hides_thoughts_makes_of_the_conversation(family: str) -> None:
    context, trajectories = play(family, SAID)
    for trajectory in trajectories:
        messages = [dict(one) for one in trajectory.turns[0].messages]
        assert len(trajectory.turns) > 1
        for turn in trajectory.turns:
            shown = context.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
            opened = shown if shown.rstrip().endswith("<think>") else f"{shown}<think>"
            assert trajectory.seen(turn) == list(context.encode(opened))
            messages += [{"role": "assistant", "content": turn.response}, turn_after(trajectory, turn)]
        last = context.text(trajectory.seen(trajectory.turns[-1]))
        assert "<answer>Left</answer>" in last and "left is ice" not in last


def turn_after(trajectory: Trajectory, turn: Any) -> dict[str, str]:
    """The user's message after a turn: the last of the next turn's own."""
    index = trajectory.turns.index(turn) + 1
    later = trajectory.turns[index : index + 1]
    return later[0].messages[-1] if later else {"role": "user", "content": ""}


@pytest.mark.parametrize("family", ["Qwen2.5", "Gemma 2", "Llama 3"])
def test_thoughts_are_hidden_under_any_template(family: str) -> None:
    context, trajectories = play(family, SAID)
    for trajectory in trajectories:
        assert trajectory.context_starts == [turn.context_start for turn in trajectory.turns]  # one for each turn
        for turn in trajectory.turns[1:]:
            read = context.text(trajectory.seen(turn))
            assert "left is ice" not in read and "<answer>Left</answer>" in read
            assert [message["role"] for message in turn.messages[:3]] == ["system", "user", "assistant"]


def test_what_is_trained_on_is_what_was_sampled_after_what_was_read() -> None:
    """With the model and template of Qwen3: the learner's log-probabilities are the sampler's, in every context."""
    config = lake_config(rollout={"context": {"type": "without_thoughts"}}, max_turns=3)
    model, context = zoo_model("Qwen3"), ContextManager(tokenizer_of("Qwen3"), think=True)
    specs = specs_of(config)
    sampler = BatchedSampler(model, rows=len(specs), stop_ids=context.stop_ids, temperature=1.0, seeds=[1])
    trajectories = AgentProxy.of(config.rollout, context, max_context_tokens=250).rollout(sampler, specs)
    assert max(len(trajectory.context_starts) for trajectory in trajectories) > 1
    batch = collate(trajectories)
    with torch.no_grad():
        found, _ = logprobs_and_entropies(model, batch.ids, batch.mask, batch.contexts, temperature=1.0)
    torch.testing.assert_close(found * batch.mask, batch.logprobs * batch.mask, atol=1e-3, rtol=0)


def test_a_response_keeps_what_follows_its_last_thought() -> None:
    assert without_thought("<think>a</think>\n\n<answer>b</answer>") == "<answer>b</answer>"
    assert without_thought("<think>a</think> x </think>y") == "y"
    assert without_thought("<think>cut off") == "<think>cut off"


def test_text_of_special_tokens_in_an_earlier_answer_stays_text() -> None:
    context = ContextManager(tokenizer_of("Qwen3"), think=True)
    state = State(observation="S", actions_left=3)
    past = Past(state=state, response=[], text="<think>a</think><|im_end|>", executed=[], reward=0.0, valid=False)
    prompt = WithoutThoughts().prompt(context, "Play.", [past], state)
    # system, first user and second user message end with the token, and so does the response, whose text is no token
    assert prompt.ids.count(context.turn_end) == 4
    assert context.text(prompt.ids).count("<|im_end|>") == 5


def test_an_endpoint_gets_the_messages_without_thoughts() -> None:
    context = ChatContext(think=True)
    state = State(observation="S", actions_left=3)
    past = Past(state=state, response=[], text="<think>a</think>b", executed=[], reward=0.0, valid=True)
    prompt = WithoutThoughts().prompt(context, "Play.", [past], state)
    assert [(one["role"], one["content"]) for one in context.messages(prompt.ids)][0::2] == [
        ("system", "Play."), ("assistant", "b"),
    ]  # fmt: skip
