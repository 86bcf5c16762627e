"""Episodes with one question and several tries. Each try after a wrong one is worth less."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from engine.environments.base import (
    Drawing,
    Environment,
    EnvironmentParameters,
    Info,
    Reduction,
    Solution,
    Split,
    server_file,
    split_of,
    step_info,
)
from engine.environments.questions.answers import as_text, same_answer
from engine.environments.questions.generated import generated
from engine.environments.questions.sets import LETTERS, Question, QuestionSet, from_files
from engine.environments.spaces import AnyText

LONGEST_ANSWER = 2000  # characters; nothing longer is an answer
LONGEST_SHOWN = 80
FORM_OF_FILES = "Where there are choices, answer with the letter of one; else with the number or word alone."
_LETTER = re.compile(r"\(?([A-Ja-j])(?:[).:].*)?", re.DOTALL)


class QuestionParameters(EnvironmentParameters):
    path: str = server_file("A file of questions to use instead of the bundled ones: JSON, JSON lines or Parquet.")
    held_out_path: str = server_file("A file of questions for evaluation. Empty: a fifth of those in path.")
    max_questions: int = Field(50_000, ge=2, le=1_000_000, description="Questions to read from a file, from its start.")
    generate_up_to: int = Field(
        0,
        ge=0,
        le=20_000,
        description="Generate a question for each seed, with no number above this one. 0: draw a bundled one.",
    )
    retry_factor: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Factor by which each wrong answer multiplies the reward. 0: only the first try counts.",
    )


class QuestionEnvironment(Environment):
    """What MetaMathQA and static question answering share."""

    separator: ClassVar[str | None] = None
    answer_form: ClassVar[str] = "answer"
    split_by: Literal["hash", "own", "none"] = "own"
    info_metrics: ClassVar[Mapping[str, Reduction]] = {"tries": "last"}
    form: ClassVar[str]  # how to answer the questions that ship
    config: QuestionParameters

    def __init__(self, config: QuestionParameters) -> None:
        super().__init__(config)
        self.action_space = AnyText()
        self.observation_space = AnyText(min_length=1)
        self.question = Question("", "")
        self.tries: list[str] = []
        self.solved = False
        self.over = True

    @abstractmethod
    def shipped_questions(self) -> QuestionSet: ...

    @abstractmethod
    def draw_question(self, rng: np.random.Generator) -> Question | None:
        """A question of the kind that ships; None if a number is above `generate_up_to`."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        self.question = self._question(self.seeded(seed), split_of(options))
        self.tries, self.solved, self.over = [], False, False
        return self.render(), {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        text = self.checked_text(action, over=self.over).strip()
        valid = self._is_answer(text)
        reward = 0.0
        if valid:
            reward = self.config.retry_factor ** len(self.tries)
            self.solved = self.over = self._is_right(text)
            self.tries.append(text)
        info = step_info(valid=valid, effective=valid, success=self.solved, tries=len(self.tries))
        return self.render(), float(reward) if self.solved else 0.0, self.over, False, info

    def action_names(self) -> None:
        return None

    def describe(self) -> str:
        form = FORM_OF_FILES if self.config.path else self.form
        factor = self.config.retry_factor
        retries = f"each wrong answer before it multiplies that by {factor:g}" if factor < 1 else "at any try"
        return f"{form}\nA correct answer earns 1; {retries}."

    def render(self) -> str:
        lines = [self.question.text, *self._labelled_choices()]
        if self.tries:
            shown = _shortened(self.tries[-1])
            lines.append(f"{shown} is correct." if self.solved else f"{shown} is not correct. Try again.")
        return "\n".join(lines)

    def drawing(self) -> Drawing:
        blocks: list[dict[str, Any]] = [{"kind": "text", "text": self.question.text}]
        tried = {self._choice(text) for text in self.tries}
        for letter, label in zip(LETTERS, self._labelled_choices(), strict=False):
            blocks.append({"kind": "button", "text": label, "state": "chosen" if letter in tried else "normal"})
        for index, text in enumerate(self.tries):
            right = self.solved and index == len(self.tries) - 1
            verdict = "correct" if right else "not correct"
            blocks.append({"kind": "text", "text": f"Try {index + 1}: {_shortened(text)}, {verdict}"})
        return {"type": "page", "title": "Question", "blocks": blocks}

    def problem(self) -> str:
        return self.question.identity

    def solution(self) -> Solution:
        return [] if self.solved else [self.question.answer]

    def random_action(self, rng: np.random.Generator) -> str:
        """A letter of a choice, or a number below 100."""
        count = len(self.question.choices)
        return LETTERS[int(rng.integers(count))] if count else str(rng.integers(100))

    def _question(self, seed: int, split: Split) -> Question:
        given = self.config
        if given.path:
            return from_files(given.path, given.held_out_path, given.max_questions).draw(seed, split)
        if given.generate_up_to:
            return generated(self.draw_question, seed, split)
        return self.shipped_questions().draw(seed, split)

    def _labelled_choices(self) -> list[str]:
        return [f"{letter}. {choice}" for letter, choice in zip(LETTERS, self.question.choices, strict=False)]

    def _is_answer(self, text: str) -> bool:
        if self.question.choices:
            return self._choice(text) is not None
        return 0 < len(text) <= LONGEST_ANSWER

    def _is_right(self, text: str) -> bool:
        if self.question.choices:
            return self._choice(text) == self.question.answer
        return same_answer(text, self.question.answer)

    def _choice(self, text: str) -> str | None:
        """The letter that the text names, alone or before the choice, as in "B", "(b)" and "B. 12"; or the letter of
        the choice that the text is."""
        letters = LETTERS[: len(self.question.choices)]
        found = _LETTER.fullmatch(text)
        if found and found[1].upper() in letters:
            return found[1].upper()
        same = [letter for letter, choice in zip(letters, self.question.choices, strict=False) if _same(text, choice)]
        return same[0] if len(same) == 1 else None


def _same(text: str, choice: str) -> bool:
    return len(text) <= LONGEST_ANSWER and as_text(text) == as_text(choice)


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_SHOWN else f"{line[:LONGEST_SHOWN]}..."
