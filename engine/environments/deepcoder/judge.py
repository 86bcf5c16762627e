"""Compares what an answer gave with what its tests expect. Never runs code, and never calls anything of an answer."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any

from engine.environments.deepcoder.tasks import CallTest, ProgramTest, Test
from engine.sandbox import Call, Case, CaseResult, Outcome, Program

TOLERANCE = 1e-6  # relative, and absolute below 1; of floating point numbers that a function returns


class Verdict(StrEnum):
    """How a test ended. Only `wrong` is a wrong answer."""

    PASSED = "passed"
    WRONG = "wrong"
    NOT_PYTHON = "not_python"
    RAISED = "raised"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    OUTPUT_OVERFLOW = "output_overflow"
    KILLED = "killed"
    NOT_RUN = "not_run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    test: Test
    verdict: Verdict
    got: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    tests: tuple[Judged, ...]

    @property
    def passed_share(self) -> float:
        return self.count(Verdict.PASSED) / len(self.tests)

    @property
    def first_failure(self) -> Judged | None:
        return next((one for one in self.tests if one.verdict is not Verdict.PASSED), None)

    def count(self, verdict: Verdict) -> int:
        return Counter(one.verdict for one in self.tests)[verdict]


def case_of(test: Test) -> Case:
    return Program(test.stdin) if isinstance(test, ProgramTest) else Call(test.function, test.arguments)


def judged(tests: Sequence[Test], results: Sequence[CaseResult]) -> Report:
    """`results` has no failure of the sandbox itself: that is no statement about the answer."""
    return Report(tuple(_judged(test, result) for test, result in zip(tests, results, strict=True)))


def _judged(test: Test, result: CaseResult) -> Judged:
    if result.outcome is not Outcome.FINISHED:
        return Judged(test=test, verdict=Verdict(result.outcome.value), got=result.error)
    if isinstance(test, ProgramTest):
        right = same_output(result.stdout, test.expected)
        return Judged(test=test, verdict=Verdict.PASSED if right else Verdict.WRONG, got=result.stdout)
    return _judged_value(test, result.value or "")


def _judged_value(test: CallTest, text: str) -> Judged:
    try:
        value = json.loads(text)
        right = same_value(value, test.expected)
        if not right and test.wrapped and isinstance(test.expected, list) and len(test.expected) == 1:
            right = same_value(value, test.expected[0])
    except (ValueError, RecursionError):  # no JSON, too many digits, or too deep
        return Judged(test=test, verdict=Verdict.RAISED, got="it returned no JSON value")
    return Judged(test=test, verdict=Verdict.PASSED if right else Verdict.WRONG, got=text)


def same_value(value: Any, expected: Any) -> bool:
    """Equal as JSON values: a tuple is a list, True is not 1, and floats are compared with a tolerance."""
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected
    if isinstance(value, int | float) and isinstance(expected, int | float):
        if isinstance(value, int) and isinstance(expected, int):
            return value == expected
        return math.isclose(_float(value), _float(expected), rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    if isinstance(value, list) and isinstance(expected, list):
        return len(value) == len(expected) and all(map(same_value, value, expected))
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(same_value(value[key], expected[key]) for key in value)
    return type(value) is type(expected) and bool(value == expected)


def _float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def same_output(output: str, expected: str) -> bool:
    """Line by line without the space around them; lines that differ as text are equal if all their words are equal
    numbers, so 1.50 is 1.5. As LiveCodeBench compares them."""
    lines, wanted = output.strip().splitlines(), expected.strip().splitlines()
    return len(lines) == len(wanted) and all(map(_same_line, lines, wanted))


def _same_line(line: str, wanted: str) -> bool:
    if line.strip() == wanted.strip():
        return True
    words, numbers = line.split(), wanted.split()
    if len(words) != len(numbers):
        return False
    try:
        return all(Decimal(word) == Decimal(number) for word, number in zip(words, numbers, strict=True))
    except InvalidOperation:
        return False
