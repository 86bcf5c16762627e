"""Countdown: make the target from all the numbers, each used once, with + - * / and parentheses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from engine.environments.arithmetic import Evaluated, evaluate
from engine.environments.base import (
    Drawing,
    Environment,
    EnvironmentParameters,
    Info,
    Solution,
    server_file,
    split_of,
    step_info,
)
from engine.environments.countdown_problems import Problem, Ranges, draw_problem, problem_of_row
from engine.environments.countdown_values import PRECEDENCE
from engine.environments.spaces import AnyText


class CountdownParameters(EnvironmentParameters):
    fewest_numbers: int = Field(3, ge=2, le=5, description="Fewest numbers of a problem.")
    most_numbers: int = Field(
        4, ge=2, le=5, description="Most numbers of a problem. Each additional one makes it much harder."
    )
    smallest_number: int = Field(1, ge=1, le=1000, description="Smallest number that is drawn.")
    largest_number: int = Field(99, ge=1, le=1000, description="Largest number that is drawn.")
    smallest_target: int = Field(1, ge=0, le=100_000, description="Smallest target.")
    largest_target: int = Field(100, ge=0, le=100_000, description="Largest target.")
    operations: str = Field(
        "+-", description="Operations that solve each problem, out of +-*/. An answer may use all four."
    )
    format_score: float = Field(
        0.1, ge=-1, le=1, description="Reward of an expression with the right numbers but the wrong value."
    )
    wrong_numbers_score: float = Field(
        0.0, ge=-1, le=1, description="Reward of an expression with the wrong numbers. TinyZero gives 0.1, RAGEN 0."
    )
    attempts: int = Field(1, ge=1, le=20, description="Expressions before the episode ends. 1 is a single turn.")
    path: str = server_file("Parquet file with columns target and nums. Blank: problems are generated.")
    held_out_path: str = server_file(
        "Parquet file of problems for evaluation. Blank: those of the other file are split by a hash."
    )

    @model_validator(mode="after")
    def _check(self) -> CountdownParameters:
        for name, low, high in (
            ("most_numbers", self.fewest_numbers, self.most_numbers),
            ("largest_number", self.smallest_number, self.largest_number),
            ("largest_target", self.smallest_target, self.largest_target),
        ):
            if high < low:
                raise ValueError(f"{name}: {high} is less than {low}, the other end of its range; use {low} or more.")
        unknown = set(self.operations) - set(PRECEDENCE)
        if unknown or not self.operations or len(set(self.operations)) < len(self.operations):
            raise ValueError(f"operations: {self.operations!r}; give some of + - * /, each once, such as +-.")
        if self.held_out_path and not self.path:
            raise ValueError("held_out_path: needs path as well; give a file for training too, or neither.")
        return self


class Countdown(Environment):
    """Make the target from the numbers.

    Description: some numbers and a target. An answer is an arithmetic expression that uses each number exactly once
        and has the target as its value.
    Actions: free text, a whole answer each: whole numbers, + - * /, signs and parentheses. At most 200 characters, 32
        nodes and 16 levels. Other text is invalid: nothing changes, the reward is 0.
    Observations: `Numbers: 3 5 8`, `Target: 16`; after a wrong expression also what is wrong with it.
    Starting state: numbers drawn uniformly, and one of the whole values in range that they make with `operations`; the
        number of ways is `ways` in the info of `reset`. With `path`, a row of the file that `operations` solve.
    Rewards: 1 for the target; `format_score` for the right numbers with another value or a division by zero;
        `wrong_numbers_score` for other numbers. Values are exact fractions.
    Episode end: the target is made, or `attempts` expressions were wrong.
    Arguments: `CountdownParameters`. The published file is Jiayi-Pan/Countdown-Tasks-3to4.
    Differences from RAGEN: problems are generated, so no file is needed. Text is parsed, never evaluated as Python,
        and compared exactly instead of within 1e-5. RAGEN ends the episode, with 0.1 if the digits match, for what is
        no expression; here it is an invalid action. Rows for training and evaluation are kept separate.
    """

    kind: ClassVar[str] = "countdown"
    title: ClassVar[str] = "Countdown"
    summary: ClassVar[str] = "Make a target number from given numbers by arithmetic, using each exactly once."
    Config = CountdownParameters
    default_instruction: ClassVar[str] = "Write an expression that uses each number once and equals the target."
    default_budget: ClassVar[dict[str, int]] = {
        "max_turns": 1,
        "max_actions_per_turn": 1,
        "max_actions": 1,
        "max_response_tokens": 100,
    }
    separator: ClassVar[str | None] = None
    answer_form: ClassVar[str] = "expression"
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "Countdown": {},
        "Countdown all operations": {"parameters": {"operations": "+-*/"}},
        "Countdown two numbers": {
            "parameters": {
                "fewest_numbers": 2,
                "most_numbers": 2,
                "largest_number": 9,
                "largest_target": 18,
            },
            "max_response_tokens": 40,
        },
        "Countdown three numbers": {
            "parameters": {"most_numbers": 3, "largest_number": 9, "largest_target": 27},
            "max_response_tokens": 60,
        },
        "Countdown three attempts": {
            "parameters": {
                "fewest_numbers": 2,
                "most_numbers": 3,
                "largest_number": 9,
                "largest_target": 20,
                "attempts": 3,
            },
            "max_turns": 3,
            "max_actions": 3,
            "max_response_tokens": 40,
        },
    }
    config: CountdownParameters

    def __init__(self, config: CountdownParameters) -> None:
        super().__init__(config)
        self.action_space = AnyText()
        self.observation_space = AnyText(min_length=1, max_length=2000)
        self.current: Problem | None = None
        self.answers: list[tuple[str, Evaluated]] = []
        self.over = True
        self.split_by = "own" if config.held_out_path else "hash"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        """`seed` determines the problem. Countdown is deterministic."""
        seed = self.seeded(seed)
        self.current = self._problem_of(seed, held_out=split_of(options) == "held_out")
        self.answers, self.over = [], False
        return self.render(), {"ways": self.current.ways}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        text = self.checked_text(action, over=self.over)
        evaluated = evaluate(text)
        if evaluated is None:
            return self.render(), 0.0, False, False, step_info(valid=False, effective=False, success=False)
        self.answers.append((text.strip(), evaluated))
        solved = self._solved
        self.over = solved or len(self.answers) >= self.config.attempts
        return self.render(), self._reward(evaluated), self.over, False, step_info(effective=True, success=solved)

    def action_names(self) -> None:
        return None

    def describe(self) -> str:
        return "An expression has + - * / and parentheses, and no = sign."

    def render(self) -> str:
        problem = self._problem
        lines = [f"Numbers: {_listed(problem.numbers)}", f"Target: {problem.target}"]
        return "\n".join([*lines, *(self._verdict(text, found) for text, found in self.answers[-1:])])

    def drawing(self) -> Drawing:
        problem = self._problem
        cards = [
            {"title": "Target", "text": str(problem.target), "state": "good" if self._solved else "normal"},
            {"title": "Numbers", "text": _listed(problem.numbers), "state": "normal"},
        ]
        for index, (text, found) in enumerate(self.answers):
            state = "good" if self._solved and index == len(self.answers) - 1 else "bad"
            cards.append({"title": text, "text": self._verdict(text, found), "state": state})
        return {"type": "cards", "cards": cards}

    def solution(self) -> Solution:
        if self.over:
            return [] if self._solved else None
        return [self._problem.expression]

    def problem(self) -> str:
        """The numbers in order, as their order does not matter."""
        return f"{_listed(tuple(sorted(self._problem.numbers)))} = {self._problem.target}"

    def random_action(self, rng: np.random.Generator) -> str:
        """All numbers in random order with random operations."""
        numbers = [self._problem.numbers[index] for index in rng.permutation(len(self._problem.numbers))]
        symbols = [self.config.operations[int(rng.integers(len(self.config.operations)))] for _ in numbers[1:]]
        return " ".join(
            [str(numbers[0]), *(f"{symbol} {one}" for symbol, one in zip(symbols, numbers[1:], strict=True))]
        )

    @property
    def _problem(self) -> Problem:
        if self.current is None:
            raise RuntimeError("There is no problem yet; call reset first.")
        return self.current

    @property
    def _solved(self) -> bool:
        return bool(self.answers) and self._is_right(self.answers[-1][1])

    def _problem_of(self, seed: int, *, held_out: bool) -> Problem:
        config = self.config
        if config.held_out_path and held_out:
            return problem_of_row(config.held_out_path, seed, config.operations)
        if config.path:
            return problem_of_row(config.path, seed, config.operations, not_in=config.held_out_path)
        ranges = Ranges(
            (config.fewest_numbers, config.most_numbers),
            (config.smallest_number, config.largest_number),
            (config.smallest_target, config.largest_target),
            config.operations,
        )
        return draw_problem(seed, ranges)

    def _reward(self, evaluated: Evaluated) -> float:
        if not self._uses_the_numbers(evaluated):
            return self.config.wrong_numbers_score
        return 1.0 if self._is_right(evaluated) else self.config.format_score

    def _is_right(self, evaluated: Evaluated) -> bool:
        return self._uses_the_numbers(evaluated) and evaluated.value == self._problem.target

    def _uses_the_numbers(self, evaluated: Evaluated) -> bool:
        return evaluated.numbers == tuple(sorted(self._problem.numbers))

    def _verdict(self, text: str, evaluated: Evaluated) -> str:
        if not self._uses_the_numbers(evaluated):
            return f"{text}: not each number once"
        if evaluated.value is None:
            return f"{text}: divides by zero"
        return f"{text} = {evaluated.value}" + ("" if self._is_right(evaluated) else f", not {self._problem.target}")


def _listed(numbers: tuple[int, ...]) -> str:
    return " ".join(map(str, numbers))
