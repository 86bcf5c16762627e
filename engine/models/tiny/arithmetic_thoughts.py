"""Thoughts about Countdown, arithmetic questions and word problems: sums with their true values, or a guess."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np

from engine.environments.arithmetic import evaluate
from engine.models.tiny.wordings import PLAIN_WORDINGS, say

TRIES = 0.3  # share of the thoughts about Countdown that discard an expression first
GUESS_WORDINGS = ("maybe {plan}", "I guess {plan}")
STEP_WORDINGS = ("{step} = {plan}", "it is {step} so {plan}")
SUM_WORDINGS = ("{sum} = {value} so {plan}", "{sum} = {value}", "it is {plan}")
_SUM = re.compile(r"What is ([-+*/() \d]+)\?")
_REMAINDER = re.compile(r"remainder when (\d+) is divided by (\d+)")
_NUMBER = re.compile(r"\d+")


def countdown(environment: Any, plan: list[str], rng: np.random.Generator) -> str:
    """At most one expression that misses, and the one to answer, each with its value."""
    target = environment.current.target
    tried = [environment.random_action(rng)] if rng.random() < TRIES else []
    missed = [one for one in tried if _value_of(one) != target]
    return " ".join(f"{one} = {_text(_value_of(one))} {_verdict(one, target)}" for one in [*missed, plan[0]])


def question(environment: Any, plan: list[str], rng: np.random.Generator) -> str:
    """For the right answer to a question that spells out a sum, that sum."""
    asked = environment.question
    if plan[0] != asked.answer:
        return say(GUESS_WORDINGS, rng, plan=plan[0])
    if spelled := _SUM.search(asked.text):
        return say(SUM_WORDINGS, rng, sum=spelled[1], value=_text(_value_of(spelled[1])), plan=plan[0])
    if divided := _REMAINDER.search(asked.text):
        number, divisor = int(divided[1]), int(divided[2])
        whole = number // divisor * divisor
        return say(SUM_WORDINGS, rng, sum=f"{number} - {whole}", value=number - whole, plan=plan[0])
    return say(PLAIN_WORDINGS, rng, plan=plan[0])


def word_problem(environment: Any, plan: list[str], rng: np.random.Generator) -> str:
    """For the right answer to a problem of one step, that step."""
    asked = environment.question
    numbers = _NUMBER.findall(asked.text)
    if plan[0] != asked.answer or len(numbers) != 2:
        return say(GUESS_WORDINGS, rng, plan=plan[0])
    steps = [f"{a} {sign} {b}" for a, b in (numbers, numbers[::-1]) for sign in "+-*/"]
    step = next(one for one in steps if _value_of(one) == int(asked.answer))
    return say(STEP_WORDINGS, rng, step=step, plan=plan[0])


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
