"""Questions to search for and the articles that answer them: the shipped encyclopaedia, or files of HotpotQA's form."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.environments.base import Split
from engine.environments.data.rows import read_rows
from engine.environments.data.word_problems import is_held_out
from engine.environments.loading import loaded_once
from engine.environments.questions.files import Row, read_table, version
from engine.environments.search.index import Article, Index
from engine.errors import ConfigError

KINDS = ("one_hop", "bridge", "comparison")
COLUMNS = "question, answer and context (HotpotQA), or question and ground_truth (RAGEN) with a server"
Version = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class SearchQuestion:
    """`supporting` are titles of the articles that the answer follows from, in the order to read them; may be empty."""

    text: str
    answers: tuple[str, ...]
    kind: str = ""
    supporting: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)  # compared and hashed by identity, as it is large
class Corpus:
    train: tuple[SearchQuestion, ...]
    held_out: tuple[SearchQuestion, ...]
    articles: tuple[Article, ...]

    def draw(self, seed: int, split: Split) -> SearchQuestion:
        questions = self.held_out if split == "held_out" else self.train
        return questions[int(np.random.default_rng([seed, 13]).integers(len(questions)))]


@loaded_once(8)
def shipped(kind: str) -> Corpus:
    """The encyclopaedia with its questions of one kind, or with all of them."""
    sides: dict[str, list[SearchQuestion]] = {"train": [], "held_out": []}
    for row in read_rows("encyclopaedia_questions"):
        if kind in ("all", row["type"]):
            question = SearchQuestion(row["question"], (row["answer"],), row["type"], tuple(row["supporting"]))
            sides[row["split"]].append(question)
    return Corpus(tuple(sides["train"]), tuple(sides["held_out"]), _encyclopaedia())


@loaded_once(1)
def _encyclopaedia() -> tuple[Article, ...]:
    return tuple(Article(**row) for row in read_rows("encyclopaedia"))


def from_files(path: str, held_out_path: str, most: int) -> Corpus:
    """The questions of one file, a fifth of them held out, or of two. The articles are those of all their contexts."""
    return _from_files(version(path), version(held_out_path) if held_out_path else None, most)


@loaded_once(2)
def _from_files(path: Version, held_out_path: Version | None, most: int) -> Corpus:
    articles: dict[str, Article] = {}  # by title; of several paragraphs with a title the first
    questions = list(_questions(path[0], most, articles))
    if held_out_path is not None:
        held_out = list(_questions(held_out_path[0], most, articles))
        known = {question.text for question in held_out}
        train = [question for question in questions if question.text not in known]
    else:
        train = [question for question in questions if not is_held_out(question.text)]
        held_out = [question for question in questions if is_held_out(question.text)]
    if not train or not held_out:
        raise ConfigError(
            f"{path[0]} has {len(questions)} questions, too few to keep some for evaluation.",
            remedy="Give a larger file, or a second one as held_out_path.",
        )
    return Corpus(tuple(train), tuple(held_out), tuple(articles.values()))


def _questions(path: str, most: int, articles: dict[str, Article]) -> Iterator[SearchQuestion]:
    """The questions of a file; adds the articles of their contexts."""
    rows = read_table(path, most)
    found = False
    for row in rows:
        question = question_of(row)
        if question is not None:
            found = True
            yield question
            for article in articles_of(row):
                articles.setdefault(article.title, article)
    if not found:
        columns = ", ".join(rows[0]) if rows else "none"
        raise ConfigError(
            f"{path} has no questions; its columns are: {columns}.", remedy=f"Name the columns {COLUMNS}."
        )


def question_of(row: Row) -> SearchQuestion | None:
    """The question of a row of HotpotQA's, RAGEN's or Search-R1's form; None for any other."""
    text = row.get("question")
    given = next((row[key] for key in ("answer", "golden_answers", "ground_truth") if row.get(key) is not None), None)
    if isinstance(given, dict):
        given = given.get("target")
    answers = tuple(str(one) for one in (given if isinstance(given, list | tuple) else [given]) if one is not None)
    if not isinstance(text, str) or not text.strip() or not any(answer.strip() for answer in answers):
        return None
    titles = (title for title, _ in _pairs(row.get("supporting_facts"), "title", "sent_id"))
    return SearchQuestion(text.strip(), answers, str(row.get("type") or ""), tuple(dict.fromkeys(titles)))


def articles_of(row: Row) -> Iterator[Article]:
    for title, sentences in _pairs(row.get("context"), "title", "sentences"):
        text = sentences if isinstance(sentences, str) else "".join(str(sentence) for sentence in sentences)
        yield Article(title, text.strip())


def _pairs(value: Any, first: str, second: str) -> Iterator[tuple[str, Any]]:
    """HotpotQA's pairs: two columns in its Parquet files, a list of lists in its JSON files."""
    pairs = zip(value.get(first, ()), value.get(second, ()), strict=False) if isinstance(value, dict) else value or ()
    yield from ((str(pair[0]), pair[1]) for pair in pairs)


def index_of(corpus: Corpus) -> Index:
    """The index over the articles of a corpus, made once in each process."""
    return _index(corpus, os.getpid())


@loaded_once(4)
def _index(corpus: Corpus, process: int) -> Index:
    return Index(corpus.articles)
