"""What the public probes ask other servers: once at a time and once a second, however many requests come."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Iterator

import pytest

from webapp.monitoring import questions
from webapp.monitoring.health import _database
from webapp.monitoring.questions import Question
from webapp.monitoring.readiness import _questions as readiness


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """One whose time is set."""
    now = [100.0]
    monkeypatch.setattr(questions, "monotonic", lambda: now[0])
    yield now


def numbered() -> Question[int]:
    """Its answers count how often it was asked."""
    return Question("test", itertools.count(1).__next__, repeated_seconds=1.0)


async def test_a_hundred_requests_within_a_second_ask_once(clock: list[float]) -> None:
    question = numbered()
    found = []
    for _ in range(100):
        clock[0] += 0.0099  # 0.99 s in all
        found.append(await question.answer())
    assert set(found) == {1}
    clock[0] += 1.0
    assert await question.answer() == 2


async def test_what_is_wrong_is_remembered_as_long_and_no_longer(clock: list[float]) -> None:
    answers = iter([OSError("away"), OSError("still away"), 3])

    def ask() -> int:
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    question = Question("test", ask, repeated_seconds=1.0)
    for _ in range(2):
        with pytest.raises(OSError, match=r"^away"):
            await question.answer()
    clock[0] += 1.0
    with pytest.raises(OSError, match="still"):
        await question.answer()
    clock[0] += 1.0
    assert await question.answer() == 3


async def test_an_answer_is_as_old_as_its_question(clock: list[float]) -> None:
    """One that took 5 s is not repeated: it may have been read at their beginning."""
    count, go_on = itertools.count(1), threading.Event()

    def ask() -> int:
        go_on.wait(30)
        return next(count)

    question = Question("test", ask, repeated_seconds=1.0)
    asked = [asyncio.ensure_future(question.answer()) for _ in range(3)]
    await asyncio.sleep(0)
    clock[0] += 5.0
    go_on.set()
    assert await asyncio.gather(*asked) == [1, 1, 1]
    assert await question.answer() == 2


@pytest.mark.parametrize("question", [_database, *readiness.values()])
def test_the_public_probes_ask_once_a_second(question: Question[None]) -> None:
    assert question._repeated_seconds == 1.0
