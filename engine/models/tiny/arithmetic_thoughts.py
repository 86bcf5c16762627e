"""Thoughts about Countdown, arithmetic questions and word problems: sums with their true values, or a guess."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np

from engine.environments.arithmetic import evaluate
from engine.environments.questions.sets import LETTERS
from engine.models.tiny.wordings import PLAIN_WORDINGS, say

TRIES = 0.3  # share of the thoughts about Countdown that discard an expression first
GUESS_WORDINGS = ("maybe {plan}", "I guess {plan}")
STEP_WORDINGS = ("{steps} so {plan}", "{steps}")
SMALL = 12  # sums with such a number have no steps
_SUM = re.compile(r"What is ([-+*/() \d]+)\?")
_REMAINDER = re.compile(r"remainder when (\d+) is divided by (\d+)")
_INNER = re.compile(r"\((\d+ [-+] \d+)\)|(?<=[-+] )(\d+ [*/] \d+)")
_NUMBER = re.compile(r"\d+")


def countdown(environment: Any, plan: list[str], rng: np.random.Generator) -> str:
    """At most one expression that misses, and the one to answer, each with its value."""
    target = environment.current.target
    tried = [environment.random_action(rng)] if rng.random() < TRIES else []
    missed = [one for one in tried if _value_of(one) != target]
    return " ".join(f"{one} = {_text(_value_of(one))} {_verdict(one, target)}" for one in [*missed, plan[0]])


def question(environment: Any, plan: list[str], rng: np.random.Generator) -> str:
    """For the right answer to a question that spells out a sum, its steps. `plan` has a choice or its letter."""
    asked = environment.question
    if plan[0] not in (asked.answer, asked.choices[LETTERS.index(asked.answer)]):
        return say(GUESS_WORDINGS, rng, plan=plan[0])
    if spelled := _SUM.search(asked.text):
        return say(STEP_WORDINGS, rng, steps=" ".join(worked(spelled[1])), plan=plan[0])
    if divided := _REMAINDER.search(asked.text):
        number, divisor = int(divided[1]), int(divided[2])
        times = number // divisor
        steps = f"{divisor} * {times} = {divisor * times} {number} - {divisor * times} = {number % divisor}"
        return say(STEP_WORDINGS, rng, steps=steps, plan=plan[0])
    return say(PLAIN_WORDINGS, rng, plan=plan[0])


def word_problem(environment: Any, plan: list[str], rng: np.random.Generator) -> str:
    """For the right answer to a problem of one step, that sum and its steps."""
    asked = environment.question
    numbers = _NUMBER.findall(asked.text)
    if plan[0] != asked.answer or len(numbers) != 2:
        return say(GUESS_WORDINGS, rng, plan=plan[0])
    sums = [f"{a} {sign} {b}" for a, b in (numbers, numbers[::-1]) for sign in "+-*/"]
    spelled = next((one for one in sums if str(_value_of(one)) == asked.answer), None)
    if spelled is None:  # more than one step
        return say(PLAIN_WORDINGS, rng, plan=plan[0])
    return say(STEP_WORDINGS, rng, steps=" ".join([spelled, *worked(spelled)]), plan=plan[0])


def worked(text: str) -> list[str]:
    """A sum of two or three numbers in steps that a small model can remember: `["52 + 7 = 59", "59 + 10 = 69"]` for
    "52 + 17". What is in parentheses comes first, then * and /."""
    inner = _INNER.search(text)
    if inner is None:
        left, sign, right = text.split()
        return _steps(int(left), sign, int(right))
    found = inner[1] or inner[2]
    rest = text.replace(inner[0], str(_value_of(found)))
    return [*worked(found), *worked(rest)]


def _steps(a: int, sign: str, b: int) -> list[str]:
    """The tens and the units of one number by themselves, where both numbers are large."""
    tens, units = b // 10 * 10, b % 10
    if sign in "+-" and units and tens and a > SMALL:
        return [_step(a, sign, units), _step(int(_step(a, sign, units).split()[-1]), sign, tens)]
    if sign == "*" and a > b and b < 10 and a > 10 and a % 10:
        return _split_product(b, a)
    if sign == "*" and tens and units and a > 1:
        return _split_product(a, b)
    return [_step(a, sign, b)]


def _split_product(a: int, b: int) -> list[str]:
    tens, units = b // 10 * 10, b % 10
    return [_step(a, "*", tens), _step(a, "*", units), _step(a * tens, "+", a * units)]


def _step(a: int, sign: str, b: int) -> str:
    return f"{a} {sign} {b} = {_value_of(f'{a} {sign} {b}')}"


def _value_of(expression: str) -> Fraction | None:
    found = evaluate(expression)
    return found.value if found else None


def _verdict(expression: str, target: int) -> str:
    return "yes" if _value_of(expression) == target else "no"


def _text(value: Fraction | None) -> str:
    """Whole numbers in full; others are of no use to the player."""
    if value is None:
        return "none"
    return str(value) if value.denominator == 1 else "a fraction"
