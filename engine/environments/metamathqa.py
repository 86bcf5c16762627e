"""Word problems, with several tries: those that ship, or the files of MetaMathQA and GSM8K."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from engine.environments.data import word_problems
from engine.environments.data.word_problem_templates import TEMPLATES
from engine.environments.questions.environment import QuestionEnvironment, QuestionParameters
from engine.environments.questions.sets import Question, QuestionSet, shipped


class MetaMathQAParameters(QuestionParameters):
    most_steps: int = Field(
        4, ge=1, le=4, description="Of the bundled problems, only those with at most this many steps."
    )


class MetaMathQA(QuestionEnvironment):
    """Word problems with a numeric answer.

    Description: A problem in words is to be solved. By default it is one of 4,200 that ship, made from 35 templates
    of one to four steps of arithmetic; `path` takes the files of MetaMathQA (columns query and response, with the
    answer after "The answer is:") or GSM8K (question and answer, with the answer after "####").

    Actions: Any text; all of a model's answer is one action. What follows "The answer is:" or "####" counts if there
    is such a marker, and the content of a last \\boxed{}.

    Observations: The problem; after a try also that try, and whether it is correct.

    Starting state: The seed chooses a problem, or with `generate_up_to` makes one from the templates. A fifth of the
    problems is kept for evaluation: by their template and numbers, in MetaMathQA by the original question, so that no
    rewritten form is on both sides.

    Rewards: 1 for a correct first try, 2^-k after k wrong ones (`retry_factor`), else 0. Numbers are compared exactly,
    without currency, percent sign, thousands separators and units; an expected number is never matched by a formula.
    Other answers are compared as text and then, if `math-verify` is installed, as mathematics.

    Episode end: After a correct answer. A wrong one leaves the episode open for another try within the budget. Text
    without content is invalid and no try.

    Arguments: `most_steps`, `generate_up_to`, `retry_factor`, `path`, `held_out_path`, `max_questions`.

    Differences from RAGEN: RAGEN's tag allows one action for a trajectory, so that its rewards for further tries never
    apply; here the budget has five. RAGEN draws training and evaluation from the same questions. RAGEN compares
    lower-cased text without white space, which calls "1,000" and "1000" different. Its observation after a wrong try
    does not repeat the question. It loads MetaMathQA from a hub; here a file is named.
    """

    kind: ClassVar[str] = "metamathqa"
    title: ClassVar[str] = "MetaMathQA"
    summary: ClassVar[str] = "Solve a word problem; each further try is worth less."
    Config = MetaMathQAParameters
    default_instruction: ClassVar[str] = "Solve the problem."
    default_budget: ClassVar[dict[str, int]] = {
        "max_turns": 5,
        "max_actions_per_turn": 1,
        "max_actions": 5,
        "max_response_tokens": 100,
    }
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "MetamathQA": {},
        "MetamathQA one step": {"parameters": {"most_steps": 1}},
        "MetamathQA one try": {"parameters": {"retry_factor": 0}, "max_turns": 1, "max_actions": 1},
        "MetamathQA small numbers": {
            "parameters": {"most_steps": 1, "generate_up_to": 60, "retry_factor": 0},
            "max_turns": 1,
            "max_actions": 1,
            "max_response_tokens": 60,
        },
    }
    form: ClassVar[str] = "Answer with the number alone."
    config: MetaMathQAParameters

    def shipped_questions(self) -> QuestionSet:
        return shipped("word_problems", most_steps=self.config.most_steps)

    def draw_question(self, rng: np.random.Generator) -> Question | None:
        templates = [one for one in TEMPLATES if len(one.steps) <= self.config.most_steps]
        template = templates[int(rng.integers(len(templates)))]
        largest = self.config.generate_up_to
        ranges = {key: (low, min(high, largest)) for key, (low, high) in template.numbers.items()}
        if any(low > high for low, high in ranges.values()):
            return None
        numbers = {key: int(rng.integers(low, high + 1)) for key, (low, high) in ranges.items()}
        values = word_problems.results(template, numbers)
        if values is None or max(values) > largest:
            return None
        row = word_problems.problem(template, numbers, values, rng)
        return Question(row["question"], row["answer"], (), word_problems.identity_of(template, numbers))
