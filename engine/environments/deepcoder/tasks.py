"""Programming tasks and their tests, from the files of DeepCoder, TACO and LiveCodeBench or our own.

A row has the statement in `problem` or `question_content`, and its tests in `tests`, or in `public_test_cases` and
`private_test_cases`: JSON text of a list of {input, output, testtype}, or of {inputs, outputs, fn_name}.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from engine.errors import ConfigError

TEST_COLUMNS = ("tests", "public_test_cases", "private_test_cases")
PROGRAM_TYPES = {"stdin", "stdin_stdout"}


@dataclass(frozen=True, slots=True)
class ProgramTest:
    stdin: str
    expected: str


@dataclass(frozen=True, slots=True)
class CallTest:
    """`wrapped`: the file puts what is returned in a list, as those of TACO do; either is right."""

    function: str
    arguments: tuple[Any, ...]
    expected: Any
    wrapped: bool = False


Test = ProgramTest | CallTest


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    name: str
    statement: str
    starter_code: str
    tests: tuple[Test, ...]
    solution: str | None = None
    solution_is_ours: bool = False  # and so passes its tests


def task_of(row: dict[str, Any], name: str) -> Task:
    """The task of a row; `ConfigError` naming the row where it has no tests or they cannot be read."""
    starter = str(row.get("starter_code") or "")
    try:
        function = _function_name(row, starter)
        found = [test for column in TEST_COLUMNS for test in _tests(_parsed(row.get(column)), function)]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise ConfigError(
            f"The tests of {name} cannot be read: {type(error).__name__}: {error}",
            remedy="Give tests as JSON; convert pickled ones once, on a machine you can lose.",
        ) from None
    if not found:
        raise ConfigError(
            f"{name} has no tests, so no answer to it can be judged.", remedy="Remove it, or add its tests."
        )
    solutions = _parsed(row.get("solutions") or "[]")
    return Task(
        name=name,
        statement=str(row.get("problem") or row.get("question_content") or "").strip(),
        starter_code=starter.strip(),
        tests=tuple(found),
        solution=str(solutions[0]) if isinstance(solutions, list) and solutions else None,
        solution_is_ours=bool(row.get("ours")),
    )


def longest(tests: tuple[Test, ...], most: int) -> tuple[Test, ...]:
    """At most `most` tests, those with the longest inputs, in their order; as rllm picks them."""

    def length(index: int) -> int:
        test = tests[index]
        return len(test.stdin) if isinstance(test, ProgramTest) else len(json.dumps(test.arguments))

    return tuple(tests[index] for index in sorted(sorted(range(len(tests)), key=length, reverse=True)[:most]))


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return json.loads(value) if value.strip() else None


def _function_name(row: dict[str, Any], starter: str) -> str:
    metadata = _parsed(row.get("metadata"))
    named = metadata.get("func_name") if isinstance(metadata, dict) else None
    defined = re.findall(r"^\s*def (\w+)\(", starter, re.MULTILINE)
    return str(named or (defined[-1] if defined else ""))


def _tests(found: Any, function: str) -> Iterator[Test]:
    if not found:
        return
    if isinstance(found, dict):
        name = found.get("fn_name")
        for given, expected in zip(found["inputs"], found["outputs"], strict=True):
            if name:
                yield CallTest(str(name), tuple(_parsed(given)), _parsed_or_text(expected), wrapped=True)
            else:
                yield ProgramTest(_text(given), _text(expected))
        return
    for one in found:
        kind: Literal["functional", "stdin"] | str = one.get("testtype", "stdin")
        metadata = one.get("metadata") if isinstance(one.get("metadata"), dict) else {}
        name = one.get("fn_name") or metadata.get("func_name") or function
        if kind in PROGRAM_TYPES:
            yield ProgramTest(_text(one["input"]), _text(one["output"]))
        elif kind == "functional" and name:
            yield CallTest(str(name), _arguments(one["input"]), _parsed_or_text(one["output"]))
        else:
            raise ValueError(f"a test of type {kind!r}" + ("" if name else " that names no function"))


def _text(value: Any) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def _arguments(given: Any) -> tuple[Any, ...]:
    """LiveCodeBench writes one JSON value on each line; others give the list of arguments."""
    if isinstance(given, str):
        return tuple(json.loads(line) for line in given.splitlines() if line.strip())
    return tuple(given)


def _parsed_or_text(value: Any) -> Any:
    """The JSON value that a text is; a text that is none is the value itself."""
    try:
        return _parsed(value)
    except ValueError:
        return value
