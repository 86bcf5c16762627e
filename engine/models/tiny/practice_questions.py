"""Question environments with far more questions than ship, made by the same generators, none of them held out.

A model of this size learns to add and multiply from thousands of examples; the shipped files have hundreds.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from engine.environments.data import choice_questions, word_problem_templates, word_problems
from engine.environments.metamathqa import MetaMathQA
from engine.environments.questions.sets import LETTERS, Question, QuestionSet
from engine.environments.static import Static

COUNT, SEED = 30_000, 7


class WordProblems(MetaMathQA):
    """Word problems of one step."""

    def shipped_questions(self) -> QuestionSet:
        return _word_problems()


class ArithmeticQuestions(Static):
    """Multiple-choice questions on arithmetic."""

    def shipped_questions(self) -> QuestionSet:
        return _arithmetic_questions()


@cache
def _word_problems() -> QuestionSet:
    rng = np.random.default_rng([SEED, 1])
    templates = word_problem_templates.ONE_STEP
    found: list[Question] = []
    while len(found) < COUNT:
        template = templates[int(rng.integers(len(templates)))]
        numbers = {key: int(rng.integers(low, high + 1)) for key, (low, high) in template.numbers.items()}
        values = word_problems.results(template, numbers)
        if values is None:
            continue
        row = word_problems.problem(template, numbers, values, rng)
        if row["split"] == "train":
            found.append(Question(row["question"], row["answer"], (), row["question"]))
    return QuestionSet(tuple(found), ())


@cache
def _arithmetic_questions() -> QuestionSet:
    rng = np.random.default_rng([SEED, 2])
    makers = choice_questions.MAKERS["arithmetic"]
    found: list[Question] = []
    while len(found) < COUNT:
        asked, right, wrong = makers[int(rng.integers(len(makers)))](rng)
        others = [choice for choice in dict.fromkeys(wrong) if choice != right][: choice_questions.CHOICES - 1]
        row = choice_questions.question("arithmetic", asked, right, others, rng)
        if row["split"] == "train" and len(others) == choice_questions.CHOICES - 1:
            found.append(Question(asked, LETTERS[row["answer"]], tuple(row["choices"]), asked))
    return QuestionSet(tuple(found), ())
