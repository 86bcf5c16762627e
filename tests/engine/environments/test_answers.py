"""Which answers count as the expected one."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

from engine.environments.questions import symbolic
from engine.environments.questions.answers import number, same_answer, stated


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("18", "18"),
        ("18.00", "18"),
        ("$18", "18"),
        ("-$5", "-5"),
        ("1,234", "1234"),
        ("1234 dollars", "1,234"),
        ("12 apples.", "12"),
        ("50%", "50"),
        ("3/4", "0.75"),
        ("1 1/2", "1.5"),
        (r"\frac{1}{2}", ".5"),
        (r"\boxed{12}", "12"),
        (r"so it is \boxed{\frac{3}{4}}", "3/4"),
        ("x = 5", "5"),
        ("First 3, then 9. The answer is: 12.", "12"),
        ("3 + 9 = 12 #### 12", "12"),
        ("5\N{MINUS SIGN}", "5"),
        ("\N{MINUS SIGN}5", "-5"),
        ("Paris", "paris"),
        ("( 1, 2 )", "(1,2)"),
    ],
)
def test_an_answer_is_right_however_it_is_written(given: str, expected: str) -> None:
    assert same_answer(given, expected)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("19", "18"),
        ("18 or 19", "18"),
        ("18, 19", "18"),
        ("0.333", "1/3"),
        ("2 + 3", "5"),
        ("2 + 3 = 5", "5"),
        ("1,5", "15"),
        ("5/0", "5"),
        ("1e3", "1000"),
        ("", "5"),
        ("", ""),
        ("five", "5"),
        ("12. The answer is: 13", "12"),
        ("Lyon", "Paris"),
    ],
)
def test_an_answer_is_wrong_if_it_is_another_or_several_or_not_computed(given: str, expected: str) -> None:
    assert not same_answer(given, expected)


def test_numbers_are_exact() -> None:
    # as floats, 0.1 + 0.2 would not be 0.3, and 2^53 + 1 would be 2^53
    assert number("0.3") == Fraction(3, 10)
    assert not same_answer("9007199254740993", "9007199254740992")


def test_an_answer_is_what_follows_the_last_marker() -> None:
    assert stated("The answer is: 3. No, the answer is 4") == "4"
    assert stated(r"\boxed{1} and \boxed{\{2\}}") == r"\{2\}"


@pytest.mark.parametrize("text", ["9" * 100_000, r"\frac{" * 20_000, "a" * 100_000, "1," * 50_000, "\\boxed{" * 10_000])
def test_long_texts_take_no_time(text: str) -> None:
    begin = time.process_time()
    same_answer(text, "5")
    assert time.process_time() - begin < 1


needs_math_verify = pytest.mark.skipif(not symbolic.is_installed(), reason="math-verify is not installed")


@needs_math_verify
@pytest.mark.parametrize(
    ("given", "expected", "equal"),
    [
        (r"\sqrt{3}/2", r"\frac{\sqrt{3}}{2}", True),
        ("2x+1", "x+x+1", True),
        ("2x+1", "2x+2", False),
    ],
)
def test_formulas_are_compared_as_mathematics(given: str, expected: str, equal: bool) -> None:
    assert same_answer(given, expected) is equal


@needs_math_verify
@pytest.mark.slow
def test_a_formula_that_takes_forever_is_wrong_after_some_seconds_and_the_next_is_compared() -> None:
    begin = time.perf_counter()
    with ThreadPoolExecutor(1) as pool:  # in a thread that is not the main one
        assert not pool.submit(same_answer, "9^{9^{9^{9}}}", "x+1").result()
        assert time.perf_counter() - begin < symbolic.SECONDS + symbolic.SECONDS_TO_START
        assert pool.submit(same_answer, "1+x", "x+1").result()


@needs_math_verify
@pytest.mark.slow
def test_a_process_that_was_killed_is_replaced() -> None:
    assert same_answer("1+x", "x+1")
    running = symbolic._worker(os.getpid()).process
    assert running is not None
    running.kill()
    assert not same_answer("1+x", "2+x") and same_answer("2+x", "x+2")


@pytest.mark.parametrize("expected", ["Paris", "the Eiffel Tower"])
def test_names_are_no_formulas(expected: str) -> None:
    begin = time.perf_counter()
    assert not symbolic.symbolically_equal("P*a*r*i*s", expected)
    assert time.perf_counter() - begin < 0.5  # a process with SymPy starts in more
