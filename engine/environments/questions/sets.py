"""Sets of questions, separate for training and evaluation: those that ship, and those of files that users name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.environments.base import Split
from engine.environments.data.rows import read_rows
from engine.environments.data.word_problems import is_held_out
from engine.environments.loading import loaded_once
from engine.environments.questions.files import Row, read_table, version
from engine.errors import ConfigError

LETTERS = "ABCDEFGHIJ"
COLUMNS = "query and response (MetaMathQA), question and answer (GSM8K), or question, choices and answer (MMLU)"


@dataclass(frozen=True, slots=True)
class Question:
    """`answer` is a letter where there are choices. Equal `identity` means that one answer gives the other away."""

    text: str
    answer: str
    choices: tuple[str, ...] = ()
    identity: str = ""


@dataclass(frozen=True, slots=True)
class QuestionSet:
    train: tuple[Question, ...]
    held_out: tuple[Question, ...]

    def draw(self, seed: int, split: Split) -> Question:
        questions = self.held_out if split == "held_out" else self.train
        return questions[int(np.random.default_rng([seed, 11]).integers(len(questions)))]


@loaded_once(16)
def shipped(name: str, *, topic: str = "all", most_steps: int = 99) -> QuestionSet:
    """The questions of a shipped file on `topic` whose solutions have at most `most_steps` steps."""
    sides: dict[str, list[Question]] = {"train": [], "held_out": []}
    for row in read_rows(name):
        if topic in ("all", row["topic"]) and row.get("steps", 1) <= most_steps:
            sides[row["split"]].append(_shipped(row))
    return QuestionSet(tuple(sides["train"]), tuple(sides["held_out"]))


def _shipped(row: Row) -> Question:
    choices = tuple(row.get("choices", ()))
    answer = LETTERS[row["answer"]] if choices else row["answer"]
    return Question(row["question"], answer, choices, row["question"])


def from_files(path: str, held_out_path: str, most: int) -> QuestionSet:
    """The questions of one file, a fifth of them held out, or of two. Read again when a file has changed."""
    return _from_files(version(path), version(held_out_path) if held_out_path else None, most)


Version = tuple[str, int, int]


@loaded_once(4)
def _from_files(path: Version, held_out_path: Version | None, most: int) -> QuestionSet:
    questions = _read(path[0], most)
    if held_out_path is not None:
        others = _read(held_out_path[0], most)
        known = {question.identity for question in others}
        found = QuestionSet(tuple(q for q in questions if q.identity not in known), tuple(others))
    else:
        found = QuestionSet(
            tuple(q for q in questions if not is_held_out(q.identity)),
            tuple(q for q in questions if is_held_out(q.identity)),
        )
    if not found.train or not found.held_out:
        raise ConfigError(
            f"{path[0]} has {len(questions)} questions, too few to keep some for evaluation.",
            remedy="Give a larger file, or a second one as held_out_path.",
        )
    return found


def _read(path: str, most: int) -> list[Question]:
    rows = read_table(path, most)
    questions = [question for question in map(question_of, rows) if question is not None]
    if not questions:
        columns = ", ".join(rows[0]) if rows else "none"
        raise ConfigError(
            f"{path} has no questions; its columns are: {columns}.", remedy=f"Name the columns {COLUMNS}."
        )
    return questions


def question_of(row: Row) -> Question | None:
    """The question of a row of MetaMathQA, GSM8K or MMLU; None for a row of another kind or without an answer.

    MetaMathQA rewrites each original question several times, so it is the original that is held out or not.
    """
    if isinstance(row.get("query"), str) and isinstance(row.get("response"), str):
        return _open(row["query"], _after(row["response"], "The answer is:"), row.get("original_question"))
    text, answer = row.get("question"), row.get("answer")
    if not isinstance(text, str):
        return None
    if row.get("choices") is not None:
        return _choice(text, [str(choice) for choice in row["choices"]], answer)
    if not isinstance(answer, str | int | float):
        return None
    return _open(text, _after(str(answer), "####") or str(answer), None)


def _open(text: str, answer: str, original: Any) -> Question | None:
    identity = original if isinstance(original, str) and original.strip() else text
    return Question(text.strip(), answer.strip(), (), identity.strip()) if answer.strip() and text.strip() else None


def _choice(text: str, choices: list[str], answer: Any) -> Question | None:
    """`answer` is the index of a choice, its letter, or its text."""
    if isinstance(answer, str) and answer in choices:
        answer = choices.index(answer)
    elif isinstance(answer, str) and len(answer) == 1:
        answer = LETTERS.find(answer.upper())
    if not isinstance(answer, int) or not 0 <= answer < len(choices) <= len(LETTERS) or not text.strip():
        return None
    return Question(text.strip(), LETTERS[answer], tuple(choices), text.strip())


def _after(text: str, marker: str) -> str:
    return text.rpartition(marker)[2] if marker in text else ""
