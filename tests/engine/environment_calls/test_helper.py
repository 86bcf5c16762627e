"""The helper process: it answers, and whatever an environment does to it is contained and named."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from engine.environment_calls.helper import CallFailed, Helper, HelperPool

MODULE = "tests.engine.environment_calls.misbehaving"
PLAY = {"seed": 1, "responses": []}


@pytest.fixture(scope="module")
def helper() -> Iterator[Helper]:
    made = Helper(memory_mib=700, withheld=["SECRET_KEY"])
    yield made
    made.stop()


def play(helper: Helper, name: str, *, seconds: float = 10.0, responses: list[str] | None = None) -> Any:
    arguments = {"seed": 1, "responses": responses or []}
    return helper.call("play", {"kind": f"{MODULE}:{name}"}, arguments, seconds=seconds)


def test_free_text_is_played_whole_and_its_form_is_named(helper: Helper) -> None:
    answer = play(helper, "Sound", responses=["<think></think><answer>no || yes</answer>"])
    assert (answer["now"]["actions"], answer["separator"], answer["answer_form"]) == (None, None, "words")
    assert answer["now"]["suggestions"] == ["yes", "no"]
    assert answer["turns"][0]["executed"] == ["no || yes"]
    answer = play(helper, "Sound", responses=["<think></think><answer>yes</answer>"])
    assert (answer["now"]["stop"], answer["now"]["total_reward"]) == ("success", 1.0)


def test_a_solution_that_is_not_known_is_said_to_be_unknown(helper: Helper) -> None:
    answer = helper.call("states", {"kind": f"{MODULE}:Sound"}, {"first_seed": 3}, seconds=10)
    assert [(state["solution"], state["optimal_length"]) for state in answer["states"]] == [("unknown", None)] * 4
    assert (answer["impossible"], answer["warning"]) == ("", "")


def test_what_an_environment_prints_is_no_answer(helper: Helper) -> None:
    assert play(helper, "Prints")["now"]["observation"] == "You said: "


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Raises", "LookupError: no such level"),
        ("Exits", "SystemExit: 3"),
        ("Floods", "the drawing has 20971548 characters"),
        ("EatsMemory", "MemoryError"),
        ("Dies", "ended its process, with status 5"),
    ],
)
def test_what_ends_a_call_is_named_and_the_next_one_is_answered(helper: Helper, name: str, reason: str) -> None:
    with pytest.raises(CallFailed, match=reason):
        play(helper, name)
    assert play(helper, "Sound")["now"]["stop"] == ""


def test_an_environment_that_hangs_is_stopped_in_time(helper: Helper) -> None:
    play(helper, "Sound")  # so that it has started
    process, begun = helper.process, time.monotonic()
    with pytest.raises(CallFailed, match=r"did not answer within 0\.5 s"):
        play(helper, "Hangs", seconds=0.5)
    assert time.monotonic() - begun < 5
    assert process is not None and process.poll() is not None


def test_calls_beyond_the_helpers_wait_and_then_say_so() -> None:
    pool = HelperPool(0)
    with pytest.raises(CallFailed, match="Other environments are running") as failed:
        pool.call("play", {"kind": "bandit"}, PLAY, seconds=0.05)
    assert failed.value.unasked
