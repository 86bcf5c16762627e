"""Answers that scorers of reasoning-gym would evaluate are read only if they do nothing."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from engine.environments.suites.answer_guards import LONGEST, guard_of, is_arithmetic, is_formula, is_literal


@pytest.mark.parametrize("text", ["[[1, 2], [3, 4]]", "ABCA", "1 2 3", "_ Q _\nQ _ _", "", "-5", "['A', 'B']"])
def test_literals_words_and_what_is_no_python_pass(text: str) -> None:
    assert is_literal(text)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').getcwd()",
        "[].__class__",
        "9**9**9",
        "f'{1}'",
        "open('x')",
        "[x for x in '12']",
        "(" * 9 + "x()" + ")" * 9,
    ],
)
def test_anything_that_would_be_computed_is_no_literal(text: str) -> None:
    assert not is_literal(text)


@pytest.mark.parametrize(("text", "passes"), [("(3 + 4) * 6 - 10 / 5", True), ("9**9", False), ("x + 1", False)])
def test_arithmetic_is_numbers_and_four_operations(text: str, passes: bool) -> None:
    assert is_arithmetic(text) is passes


@pytest.mark.parametrize(
    "text",
    [
        "2*x**3 - x/4 + C",
        "exp(x)*sin(2*x) + C",
        "sqrt(x**2 + 1)",
        "(x**2 + 1)**4/8",
        "exp(x**2)",
        "(x + 1)**(1/2)",
        "x**-2",
        "-log(cos(X)) + pi",
    ],
)
def test_formulas_pass(text: str) -> None:
    assert is_formula(text)


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9",
        "(((9**64)**64)**64)**64",
        "x**y",
        "2**(10**6)",
        "x**65",
        "x**(2*40)",
        "exp(exp(exp(9)))",
        "exp(x**2)**9",
        "sin(exp(9**9)**9)",
        "factorial(9)",
        "x.diff",
        "x if x else y",
        "lambda: 0",
        "10000000000000",
        "'a'*9",
        "a*b*c*d*e",
        "1 << 9",
        "5 % x",
        "exp(x, y)",
        "(lambda: 0)()",
        "x +",
        "x+" * 150 + "x",
    ],
)
def test_code_and_what_computes_forever_is_no_formula(text: str) -> None:
    assert not is_formula(text)


def test_a_data_set_whose_code_evaluates_text_is_refused_unless_it_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scorers_of_a_newer_version.py").write_text("class Scores: go = lambda self, answer: eval(answer)\n")
    (tmp_path / "other_scorers.py").write_text("class Scores: go = lambda self, answer: answer == '1'\n")
    monkeypatch.syspath_prepend(tmp_path)
    evaluates = import_module("scorers_of_a_newer_version").Scores
    compares = import_module("other_scorers").Scores
    with pytest.raises(ValueError, match="its code evaluates text"):
        guard_of("new_data_set", evaluates)
    assert guard_of("number_sorting", evaluates)("__import__('os')")  # evaluates the expected answer, not the given one
    assert not guard_of("n_queens", evaluates)("__import__('os')")
    assert guard_of("new_data_set", compares)("x" * LONGEST)
    assert not guard_of("new_data_set", compares)("x" * (LONGEST + 1))


@pytest.mark.parametrize("name", ["codeio", "composite"])
def test_data_sets_that_run_code_or_hide_others_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="it "):
        guard_of(name, object)
