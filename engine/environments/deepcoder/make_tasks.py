"""Writes our programming tasks with their tests: `python -m engine.environments.deepcoder.make_tasks`.

The statements and solutions are ours; the expected outputs are what the solutions give for generated inputs.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from engine.environments.deepcoder import task_families_numbers, task_families_text
from engine.environments.deepcoder.task_files import SHIPPED
from engine.environments.deepcoder.task_inputs import Family
from engine.environments.deepcoder.task_pipelines import pipelines

SEED = 20_051
TESTS = 8
EXAMPLES = 2  # tests that the statement shows
MOST_TRIES = 200  # for distinct inputs


def make_rows(seed: int = SEED) -> list[dict[str, Any]]:
    """All tasks, shuffled, with DeepCoder's columns."""
    written = [*task_families_numbers.FAMILIES, *task_families_text.FAMILIES]
    families = [*written, *pipelines(np.random.default_rng([seed, 1]))]
    rows = [
        _row(family, parameters, np.random.default_rng([seed, 2, index, variant]))
        for index, family in enumerate(families)
        for variant, parameters in enumerate(family.parameters)
    ]
    return [rows[index] for index in np.random.default_rng([seed, 3]).permutation(len(rows))]


def _row(family: Family, parameters: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    statement, solution = _filled(family.statement, parameters), _filled(family.solution, parameters) + "\n"
    inputs = list(_distinct_inputs(family, parameters, rng))
    if family.function:
        tests = [
            {"input": given, "output": _called(solution, family.function, given), "testtype": "functional"}
            for given in inputs
        ]
        shown = [
            f"{family.function}({', '.join(map(repr, test['input']))}) returns {test['output']!r}"
            for test in tests[:EXAMPLES]
        ]
        starter = solution[: solution.index("\n") + 1] + "    ...\n"
    else:
        tests = [{"input": given, "output": _printed(solution, given), "testtype": "stdin"} for given in inputs]
        shown = [f"Input:\n{test['input'].rstrip()}\nOutput:\n{test['output'].rstrip()}" for test in tests[:EXAMPLES]]
        starter = ""
    name = "-".join([family.name, *(str(value).replace(" ", "-") for value in parameters.values())])
    return {
        "name": name,
        "problem": f"{statement}\n\nExamples:\n" + "\n".join(shown),
        "starter_code": starter,
        "tests": json.dumps(tests, separators=(",", ":")),
        "solutions": [solution],
        "metadata": {"func_name": family.function} if family.function else {},
        "ours": True,
    }


def _filled(text: str, parameters: dict[str, Any]) -> str:
    for name, value in parameters.items():
        text = text.replace(f"<{name}>", str(value))
    return text.strip("\n")


def _distinct_inputs(family: Family, parameters: dict[str, Any], rng: np.random.Generator) -> Iterator[Any]:
    seen: set[str] = set()
    for _ in range(MOST_TRIES):
        given = family.inputs(rng, parameters)
        if (key := json.dumps(given)) not in seen:
            seen.add(key)
            yield given
        if len(seen) == TESTS:
            return


def _called(solution: str, function: str, arguments: list[Any]) -> Any:
    scope: dict[str, Any] = {}
    exec(solution, scope)  # noqa: S102 - our own solutions
    return json.loads(json.dumps(scope[function](*json.loads(json.dumps(arguments)))))


def _printed(solution: str, stdin: str) -> str:
    before, output = sys.stdin, io.StringIO()
    sys.stdin = io.StringIO(stdin)
    try:
        with contextlib.redirect_stdout(output):
            exec(solution, {"__name__": "__main__"})  # noqa: S102 - our own solutions
    finally:
        sys.stdin = before
    return output.getvalue()


def text_of(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


if __name__ == "__main__":
    SHIPPED.write_text(text_of(make_rows()), encoding="utf-8")
