"""Questions with choices, with several tries: those that ship, or the files of MMLU, GSM8K and MetaMathQA."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from engine.environments.data import choice_questions
from engine.environments.questions.environment import QuestionEnvironment, QuestionParameters
from engine.environments.questions.sets import LETTERS, Question, QuestionSet, shipped

_NUMBER = re.compile(r"\d+")


class StaticParameters(QuestionParameters):
    topic: Literal["all", "arithmetic", "units", "calendar", "ordering"] = Field(
        "all", description="Of the bundled questions, only those on one topic."
    )


class Static(QuestionEnvironment):
    """Questions from a fixed list, most of them with choices.

    Description: A question is to be answered. By default it is one of 1,650 that ship, with four choices each, on
    arithmetic, units, the calendar and ordering; `path` takes the files of MMLU (columns question, choices and answer,
    which is an index, a letter or the choice), GSM8K or MetaMathQA.

    Actions: Any text. Where there are choices it is the letter of one, as in "B", "(b)" and "B. 12", or the choice
    itself; else the answer, compared as in `metamathqa`.

    Observations: The question and its choices; after a try also that try, and whether it is correct.

    Starting state: The seed chooses a question, or with `generate_up_to` makes one as those that ship were made. A
    fifth of the questions is kept for evaluation.

    Rewards: 1 for a correct first try, 2^-k after k wrong ones (`retry_factor`), else 0.

    Episode end: After a correct answer. A wrong one leaves the episode open for another try within the budget. Text
    that names no choice is invalid and no try.

    Arguments: `topic`, `generate_up_to`, `retry_factor`, `path`, `held_out_path`, `max_questions`.

    Differences from RAGEN: RAGEN has the code of such an environment, but does not register it, and its rollouts could
    not run it, as it has no `render`. Its scorer for GSM8K takes the first number of an answer; here the answer has to
    be one number. Its MMLU is one subject (abstract_algebra); here any file of these columns will do.
    """

    kind: ClassVar[str] = "static"
    title: ClassVar[str] = "Static question answering"
    summary: ClassVar[str] = "Answer a question with four choices; each further try is worth less."
    Config = StaticParameters
    default_instruction: ClassVar[str] = "Answer the question."
    default_budget: ClassVar[dict[str, int]] = {
        "max_turns": 3,
        "max_actions_per_turn": 1,
        "max_actions": 3,
        "max_response_tokens": 60,
    }
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "StaticQA": {},
        "StaticQA arithmetic": {"parameters": {"topic": "arithmetic"}},
        "StaticQA one try": {"parameters": {"retry_factor": 0}, "max_turns": 1, "max_actions": 1},
        "StaticQA small numbers": {
            "parameters": {"topic": "arithmetic", "generate_up_to": 60, "retry_factor": 0},
            "max_turns": 1,
            "max_actions": 1,
        },
    }
    form: ClassVar[str] = "Answer with the letter of a choice."
    config: StaticParameters

    def shipped_questions(self) -> QuestionSet:
        return shipped("choice_questions", topic=self.config.topic)

    def draw_question(self, rng: np.random.Generator) -> Question | None:
        topics = list(choice_questions.MAKERS) if self.config.topic == "all" else [self.config.topic]
        topic = topics[int(rng.integers(len(topics)))]
        makers = choice_questions.MAKERS[topic]
        asked, right, wrong = makers[int(rng.integers(len(makers)))](rng)
        others = choice_questions.wrong_choices(right, wrong)
        largest = max((int(number) for number in _NUMBER.findall(f"{asked} {right}")), default=0)
        if largest > self.config.generate_up_to or len(others) < choice_questions.CHOICES - 1:
            return None
        row = choice_questions.question(topic, asked, right, others, rng)
        return Question(asked, LETTERS[row["answer"]], tuple(row["choices"]), asked)
