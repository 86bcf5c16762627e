"""A chat endpoint plays as it should, is asked as it should be, and its passing troubles change no number."""

from __future__ import annotations

import dataclasses
import re
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from engine.environments import make_environment
from engine.evaluation.evaluation import Outcome
from engine.evaluation.results import Result
from engine.policies.api_key import ApiKey
from engine.policies.chat_completions import ChatResponse
from engine.policies.chat_endpoint import ChatEndpoint, EndpointSettings
from engine.policies.openai_policy import whole_response
from tests.engine.evaluation.chat_server import Answer, Asked, completion, error, moves_for, serving
from tests.engine.evaluation.conftest import KEY, evaluate_at, lake_config


def timeless(outcome: Outcome) -> list[Result]:
    return [dataclasses.replace(result, seconds=0.0) for result in outcome.results]


def first_prompts(asked: list[Asked]) -> list[Asked]:
    return [one for one in asked if len(one.payload["messages"]) == 2]


def test_results_are_those_of_a_plain_loop_over_the_same_moves() -> None:
    with serving() as server:
        outcome = evaluate_at(server, episodes=8)
    assert outcome.complete
    conversations = {one.payload["messages"][1]["content"]: one for one in server.asked}
    for result in outcome.results:
        lake = make_environment("frozen_lake")
        seed = result.problem_seed
        observation, _ = lake.reset(seed=seed, options={"chance_seed": (seed * 1009 + 1) % 2**32})
        opening = next(key for key in conversations if key.startswith(observation))
        turns = [one for one in server.asked if one.payload["messages"][1]["content"] == opening]
        success, total = False, 0.0
        for turn in sorted(turns, key=lambda one: len(one.payload["messages"])):
            for move in moves_for(turn.payload["seed"]):
                _, reward, over, _, info = lake.step(lake.action_names().index(move))
                total += float(reward)
                success = success or bool(info["success"])
                if over:
                    break
        assert (result.success, result.raw_return, result.turns) == (success, total, len(turns))
        # the server counts 10 tokens given and 3 sampled for each request
        assert (result.prompt_tokens, result.tokens) == (10 * len(turns), 3 * len(turns))
        assert result.parse_failures == 0 and result.seconds > 0


def test_a_conversation_grows_by_what_was_said() -> None:
    with serving() as server:
        evaluate_at(server, episodes=6, temperature=0.5)
    longest = max(server.asked, key=lambda one: len(one.payload["messages"]))
    roles = [message["role"] for message in longest.payload["messages"]]
    assert roles == ["system", *["user", "assistant"] * (len(roles) // 2 - 1), "user"]
    assert re.fullmatch("<think>so</think><answer>.*</answer>", longest.payload["messages"][2]["content"])
    assert longest.path == "/v1/chat/completions"
    assert (longest.payload["model"], longest.payload["temperature"]) == ("moves", 0.5)
    assert longest.payload["max_tokens"] == lake_config().environments[0].max_response_tokens
    assert longest.headers["Authorization"] == f"Bearer {KEY}"


def test_an_evaluation_repeats_itself_and_its_samples_differ() -> None:
    with serving() as server:
        one = evaluate_at(server, samples=2, concurrency=1)
        other = evaluate_at(server, samples=2, concurrency=5)
    assert timeless(one) == timeless(other)
    seeds = [asked.payload["seed"] for asked in first_prompts(server.asked)]
    assert len(set(seeds)) == 12  # 6 problems x 2 samples, the same in both evaluations


@pytest.mark.parametrize(
    "failure",
    [
        error(500, "out of memory"),
        error(503, "loading"),
        error(429, "slower"),
        Answer(body=b'{"choices": [{"mess'),
        Answer(body=b'{"error": {"message": "upstream died", "code": 502}}'),
        Answer(hang_up=True),
        Answer(delay=0.6),
    ],
    ids=["500", "503", "429", "broken JSON", "error in a 200", "hung up", "slow"],
)
def test_transient_failures_are_retried_and_change_no_result(failure: Answer) -> None:
    with serving() as calm:
        undisturbed = evaluate_at(calm, timeout=0.3)
    with serving(lambda asked, number: failure if number % 3 == 1 else None) as failing:
        disturbed = evaluate_at(failing, timeout=0.3, retries=8)
    assert disturbed.complete
    assert timeless(disturbed) == timeless(undisturbed)
    assert len(failing.asked) > len(calm.asked)
    assert any("retried" in note for note in disturbed.notes)


def test_a_server_that_names_its_wait_is_not_asked_before() -> None:
    def slow_down(asked: Asked, number: int) -> Answer | None:
        return dataclasses.replace(error(429, "slower"), headers={"Retry-After": "1"}) if number == 0 else None

    with serving(slow_down) as server:
        assert evaluate_at(server, episodes=1).complete
    assert server.asked[1].time - server.asked[0].time >= 1.0


def test_a_wait_may_be_named_as_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)

    def tomorrow(asked: Asked, number: int) -> Answer:
        return dataclasses.replace(error(429, "slower"), headers={"Retry-After": later})

    with serving(tomorrow) as server:
        outcome = evaluate_at(server, episodes=1, longest_wait=5)
    assert len(server.asked) == 1
    assert re.search(r"Its Retry-After is 3(600|59\d) s; the longest wait is 5 s", outcome.results[0].error)


def test_no_more_requests_run_at_once_than_allowed() -> None:
    with serving(lambda asked, number: Answer(delay=0.05, body=completion("no"))) as server:
        evaluate_at(server, episodes=12, concurrency=3)
    assert server.busiest == 3


def test_a_response_cut_off_by_its_length_is_no_answer() -> None:
    cut = Answer(body=completion("<think>so", finish="length"))
    with serving(lambda asked, number: cut) as server:
        outcome = evaluate_at(server, episodes=2)
    assert [(result.parse_failures, result.turns, result.success) for result in outcome.results] == [(3, 3, False)] * 2


def test_models_that_want_other_fields_get_them() -> None:
    def picky(asked: Asked, number: int) -> Answer | None:
        if "max_tokens" in asked.payload:
            return error(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        return error(422, "extra inputs are not permitted: seed") if "seed" in asked.payload else None

    with serving(picky) as server:
        outcome = evaluate_at(server, episodes=2, concurrency=1)
    assert outcome.complete
    assert "max_completion_tokens" in server.asked[-1].payload and "seed" not in server.asked[-1].payload
    assert any("accepts no seed" in note for note in outcome.notes)


def test_token_counts_that_an_endpoint_does_not_tell_are_unknown_not_zero() -> None:
    with serving(lambda asked, number: Answer(body=completion("no", usage=False))) as server:
        outcome = evaluate_at(server, episodes=2)
    assert [result.tokens for result in outcome.results] == [None, None]
    assert outcome.summaries[0].tokens is None


@pytest.mark.parametrize(
    ("content", "reasoning", "think", "whole"),
    [
        ("<think>a</think><answer>Up</answer>", "", True, "<think>a</think><answer>Up</answer>"),
        ("<answer>Up</answer>", "a", True, "<think>a</think><answer>Up</answer>"),  # the server took the thought out
        ("a</think><answer>Up</answer>", "", True, "<think>a</think><answer>Up</answer>"),  # its template opened it
        ("Up</answer>", "", False, "<answer>Up</answer>"),
        ("Up", "", True, "Up"),  # nothing else is corrected
        ("<answer>Up</answer>", "a", False, "<answer>Up</answer>"),
    ],
)
def test_a_thought_that_a_server_moved_is_put_back(content: str, reasoning: str, think: bool, whole: str) -> None:
    response = ChatResponse(content=content, reasoning=reasoning, ended=True, prompt_tokens=1, response_tokens=1)
    assert whole_response(response, "<think>" if think else "<answer>", think=think) == whole


def test_a_conversation_longer_than_the_endpoints_context_is_counted() -> None:
    def small_context(asked: Asked, number: int) -> Answer | None:
        if len(asked.payload["messages"]) > 2:
            return error(400, "This model's maximum context length is 64 tokens.", code="context_length_exceeded")
        return Answer(body=completion("no"))

    with serving(small_context) as server:
        outcome = evaluate_at(server, episodes=3)
    # the first response was played, so the episodes stand as they are: no success
    assert [(result.stop, result.success) for result in outcome.results] == [("context_full", False)] * 3
    assert outcome.complete and any("3 episodes ended because the context was full" in note for note in outcome.notes)


def test_a_first_prompt_longer_than_the_endpoints_context_has_no_score() -> None:
    with serving(lambda asked, number: error(400, "prompt is too long: 900 tokens > 512 maximum")) as server:
        outcome = evaluate_at(server, episodes=12)
    assert not outcome.complete
    assert outcome.unscored == 12 and outcome.summaries[0].success is None
    assert {result.stop for result in outcome.results} == {"context_full"}


def test_a_request_that_fails_for_good_costs_its_own_episode_alone() -> None:
    def one_is_refused(asked: Asked, number: int) -> Answer | None:
        return error(400, "content policy") if number == 3 else None

    with serving(one_is_refused) as server:
        outcome = evaluate_at(server, episodes=6, concurrency=1)
    failed = [result for result in outcome.results if not result.scored]
    assert [result.stop for result in failed] == ["error"]
    assert "content policy" in failed[0].error and failed[0].raw_return is None
    summary = outcome.summaries[0]
    assert (summary.scored, summary.unscored) == (5, 1)
    assert summary.success == sum(bool(result.success) for result in outcome.results) / 5
    assert summary.pass_at == {1: None}  # a suite with a hole has no pass@k
    assert outcome.failure is None and not outcome.complete


def test_a_refusal_that_comes_first_does_not_condemn_the_endpoint() -> None:
    with serving(lambda asked, number: error(400, "content policy") if number == 0 else None) as server:
        outcome = evaluate_at(server, episodes=6, concurrency=1)
    assert outcome.failure is None and [result.scored for result in outcome.results] == [False, *[True] * 5]


def test_a_server_that_restarts_is_waited_for() -> None:
    def ask() -> str:
        return endpoint.complete([{"role": "user", "content": "?"}], max_tokens=9, temperature=1.0, seed=1).content

    with serving(lambda asked, number: Answer(body=completion("one"), headers={"Connection": "close"})) as server:
        settings = EndpointSettings(url=server.address, model="moves", backoff=0.2)
        endpoint = ChatEndpoint(settings, ApiKey())
        assert ask() == "one"
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(ask)
        time.sleep(0.3)  # refused at least once
        assert endpoint.retried > 0
        with serving(lambda asked, number: Answer(body=completion("two")), port=server.server_port):
            assert answer.result() == "two"
    endpoint.close()


def test_results_are_kept_when_an_endpoint_dies() -> None:
    with serving(lambda asked, number: error(500, "gone") if number > 10 else None) as server:
        outcome = evaluate_at(server, episodes=40, concurrency=1, retries=0)
    assert "does not respond" in str(outcome.failure)
    assert len(outcome.results) == 40
    stops = [result.stop for result in outcome.results]
    assert stops.count("error") == 8 and stops.count("not_played") > 0
    assert all(result.error for result in outcome.results if not result.scored)
    assert outcome.unscored == sum(stop in ("error", "not_played") for stop in stops)
