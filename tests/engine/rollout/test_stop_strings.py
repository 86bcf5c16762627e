"""Stop strings and token budgets: where a response ends, what of it is trained on, and what the record says of it."""

from __future__ import annotations

from typing import Any

import pytest

from engine.policies.batched_sampler import BatchedSampler
from engine.policies.chat_completions import ChatResponse
from engine.policies.openai_policy import ChatContext
from engine.rollout.context_manager import ContextManager
from engine.rollout.records import record_of
from engine.rollout.stop_strings import StopStrings
from engine.rollout.types import Response, Trajectory
from tests.engine.models import words
from tests.engine.rollout.builders import context_manager, lake_config, proxy_of, say, specs_of
from tests.engine.talker import talking_model

EVERY_LETTER = dict(enumerate("abcdefgh"))


def letters(ids: list[int]) -> str:
    return "".join(EVERY_LETTER[number] for number in ids)


def test_a_response_ends_with_the_token_that_completes_a_stop_string() -> None:
    strings = StopStrings(["cd", "ge"], letters)
    ended = [strings.end([0, 1, 2, 3, 4][:count]) for count in range(1, 6)]
    assert ended[:4] == [False, False, False, True]  # a, ab, abc, abcd
    assert strings.first_end([0, 6, 4, 2, 3]) == 3  # a ge cd: after the first of both
    assert strings.first_end([0, 1, 2, 3], seen=3) == 4
    assert strings.first_end([0, 1, 2, 3], seen=4) is None
    assert strings.first_end([3, 2, 1]) is None


def test_a_long_string_of_many_tokens_is_found_in_a_long_response() -> None:
    context = context_manager()
    long = "Ω and a very long string that ends the response"
    strings = StopStrings([long], context.text)
    ids = [*words().encode("word " * 200), *words().encode(f"so {long} or not")]
    found = strings.first_end(ids)
    assert found is not None
    assert long in context.text(ids[:found])
    assert long not in context.text(ids[: found - 1])


def sampled(**rollout: Any) -> list[Trajectory]:
    """Of a model that has learned the format, so that its responses would end by themselves."""
    config = lake_config(max_response_tokens=24, max_turns=3, rollout=rollout)
    model, stops = talking_model(), config.rollout.stop_strings
    context = ContextManager(words(), think=True, stop_strings=stops)
    specs = specs_of(config)
    sampler = BatchedSampler(
        model, rows=len(specs), stop_ids=context.stop_ids, stop_strings=context.stop_strings, temperature=1.0, seeds=[1]
    )
    proxy = proxy_of(config)
    proxy.context = context
    return proxy.rollout(sampler, specs)


def responses(trajectories: list[Trajectory]) -> list[tuple[Trajectory, list[int], Any]]:
    return [(one, one.ids[turn.response_start : turn.response_end], turn) for one in trajectories for turn in one.turns]


def test_the_ids_of_a_stopped_response_are_those_that_were_sampled_and_all_are_trained_on() -> None:
    """Rows draw from their own streams, so up to its stop string a first response is the one without stop strings."""
    plain, stopped = sampled(), sampled(stop_strings=["</answer>"])
    context = context_manager()
    assert any("</answer>" in turn.response for _, _, turn in responses(stopped))
    for before, after in zip(plain, stopped, strict=True):
        one, other = (each.ids[each.turns[0].response_start : each.turns[0].response_end] for each in (before, after))
        assert one[: len(other)] == other
        text = context.text(one)
        if "</answer>" in text:
            assert context.text(other).endswith("</answer>") and after.turns[0].cut == ""
    for trajectory, ids, turn in responses(stopped):
        assert sum(trajectory.trained[turn.response_start : turn.response_end]) == len(ids)
        assert context.text(ids).count("</answer>") <= 1
        assert all(logprob < 0 for logprob in trajectory.logprobs[turn.response_start : turn.response_end])


def test_the_next_prompt_closes_a_turn_that_a_stop_string_ended() -> None:
    context = context_manager()
    response = words().encode("go</think><answer>Up</answer>")
    closed = context.following("now", response=[*response, context.turn_end])
    assert context.following("now", response=response) == (context.turn_end, *closed)


def test_the_response_that_reaches_the_limit_of_the_trajectory_is_cut_there_and_ends_it() -> None:
    """Of 50 tokens, responses of at most 24: two of 24 leave 2 for the third turn."""
    for trajectory in sampled(max_trajectory_tokens=50):
        assert trajectory.response_tokens <= 50
        for turn in trajectory.turns:
            left = 50 - sum(trajectory.sampled[: turn.response_start])
            length = turn.response_end - turn.response_start
            assert length <= min(24, left)
            if turn.cut:
                assert (turn.cut, length) == (("trajectory", left) if left < 24 else ("turn", 24))
        if trajectory.response_tokens == 50:
            assert trajectory.stop == "max_tokens" or trajectory.turns[-1].cut == ""


class Endless:
    """Responses of as many tokens as they may have, none of which ends them."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []
        self.released: list[int] = []
        self.done = 0

    def submit(self, row: int, ids: list[int], *, max_tokens: int) -> None:
        self.asked.append((row, max_tokens))

    def restart(self, row: int) -> None: ...

    def release(self, row: int) -> None:
        self.released.append(row)

    def advance(self, *, block: bool = True) -> list[Response]:
        waiting, self.done = self.asked[self.done :], len(self.asked)
        token = words().encode("a")[0]
        return [
            Response(row=row, ids=[token] * count, logprobs=[-1.0] * count, entropies=[1.0] * count, ended=False)
            for row, count in waiting
        ]


def test_a_trajectory_whose_tokens_are_used_up_ends_and_its_cut_turns_are_marked() -> None:
    """25 tokens: 10, 10 and 5, the last cut by the trajectory's limit; a fourth turn is never asked for."""
    config = lake_config(
        rollout={"groups": 1, "group_size": 2, "max_trajectory_tokens": 25}, max_response_tokens=10, max_turns=9
    )
    sampler = Endless()
    trajectory, _ = proxy_of(config).rollout(sampler, specs_of(config))
    assert sampler.asked == [(row, room) for room in (10, 10, 5) for row in (0, 1)]
    assert sampler.released == [0, 1]
    assert trajectory.stop == "max_tokens" and trajectory.has_outcome
    assert [turn.cut for turn in trajectory.turns] == ["turn", "turn", "trajectory"]
    assert [turn.parsed.case for turn in trajectory.turns] == ["cut_off"] * 3
    record = record_of(trajectory, step=1, split="train", piece=str)
    assert record["stop"] == "max_tokens"
    assert [turn["cut"] for turn in record["turns"]] == ["turn", "turn", "trajectory"]


def test_a_response_that_ends_by_itself_is_not_marked() -> None:
    trajectories = say(lake_config(), ["go</think><answer>Up</answer>"])
    assert {turn.cut for trajectory in trajectories for turn in trajectory.turns} == {""}


@pytest.mark.parametrize(
    ("content", "kept"),
    [("<think>a</think><answer>Up</answer> and more", "<think>a</think><answer>Up</answer>"), ("none", "none")],
)
def test_a_response_of_an_endpoint_is_cut_after_the_first_stop_string(content: str, kept: str) -> None:
    context = ChatContext(think=True, stop_strings=["</answer>"])
    response = ChatResponse(content=content, reasoning="", ended=False, prompt_tokens=1, response_tokens=1)
    assert context.response_text([context.add_response(response)]) == kept
