"""SearchQA: find the answer to a question by searches in a corpus, then finish with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from engine.environments.base import (
    Drawing,
    Environment,
    EnvironmentParameters,
    Info,
    Reduction,
    server_address,
    server_file,
    split_of,
    step_info,
)
from engine.environments.search.client import Protocol, checked_address, client_for
from engine.environments.search.corpus import Corpus, SearchQuestion, from_files, index_of, shipped
from engine.environments.search.index import Hit
from engine.environments.search.scoring import exact_match, f1
from engine.environments.spaces import AnyText
from engine.errors import ConfigError

LONGEST_QUERY = 300  # characters
LONGEST_ANSWER = 300
_ACTION = re.compile(r"\s*(search|finish)\s*\[(.*)\]\s*", re.IGNORECASE | re.DOTALL)


class SearchParameters(EnvironmentParameters):
    questions: Literal["all", "one_hop", "bridge", "comparison"] = Field(
        "all",
        description="Of the bundled questions, only those of one kind. bridge and comparison need two articles.",
    )
    max_results: int = Field(3, ge=1, le=20, description="Articles that a search shows.")
    max_article_characters: int = Field(800, ge=50, le=10_000, description="Longer articles are cut in results.")
    max_characters: int = Field(4000, ge=200, le=50_000, description="All results of a search together are cut here.")
    f1_threshold: float = Field(
        0.3,
        ge=0,
        le=1,
        description="An inexact answer earns its F1 if that is at least this, else 0. 1: only exact ones earn.",
    )
    path: str = server_file("A file of questions to use instead of the bundled ones, in HotpotQA's format.")
    held_out_path: str = server_file("A file of questions for evaluation. Empty: a fifth of those in path.")
    max_questions: int = Field(5000, ge=2, le=500_000, description="Questions to read from a file, from its start.")
    server: str = server_address("Address of a retrieval server to search with, such as http://127.0.0.1:8000.")
    protocol: Protocol = Field("ragen", description="What the server speaks: RAGEN's protocol or Search-R1's.")
    timeout_seconds: float = Field(
        20, gt=0, le=600, description="Time limit of a search on the server, including retries."
    )

    @model_validator(mode="after")
    def _check_server(self) -> SearchParameters:
        if self.server:
            try:
                checked_address(self.server)
            except ConfigError as error:
                raise ValueError(str(error)) from None
        return self


class Search(Environment):
    """Questions over one or two articles, which are found by searching.

    Description: A question is to be answered from articles. By default it is one of 2,250 on a shipped encyclopaedia of
    an invented world with 1,254 articles, where nothing can be known without searching. `path` takes questions of
    HotpotQA's form, whose contexts become the corpus; `server` searches at a retrieval server.

    Actions: `search[words]` and `finish[answer]`; all of a model's answer is one action. Other text is invalid and
    changes nothing.

    Observations: The question; after a search also the best articles, cut at `max_article_characters` each and
    `max_characters` together. Articles are ranked by BM25 (SQLite FTS5, with stems; titles count three times).

    Starting state: The seed chooses a question. Held-out questions that ship are on another world than those of
    training, so they share no article; of files, a fifth of the questions is held out.

    Rewards: On finish 1 for an exact match, else the F1 of its words if it is at least `f1_threshold`, else 0. Answers
    are normalised and scored as in HotpotQA's evaluation. Searches earn nothing.

    Episode end: On finish. Success is an exact match.

    Arguments: `questions`, `max_results`, `max_article_characters`, `max_characters`, `f1_threshold`, `path`,
    `held_out_path`, `max_questions`, `server`, `protocol`, `timeout_seconds`.

    Differences from RAGEN: RAGEN shows a failed retrieval as an observation; here it ends the run
    (`EnvironmentUnavailable`). RAGEN takes any other text as a final answer and picks a part of it; here it is invalid.
    RAGEN counts any reward as success. RAGEN draws training and evaluation from one file. Its own corpus needs a server
    with an index of some 80 GB; its mock mode gives made-up results, where this one has a real corpus.
    """

    kind: ClassVar[str] = "search"
    title: ClassVar[str] = "SearchQA"
    summary: ClassVar[str] = "Answer a question by searching for the one or two articles that it needs."
    Config = SearchParameters
    default_instruction: ClassVar[str] = "Find the answer to the question by searching, then finish with it."
    default_budget: ClassVar[dict[str, int]] = {
        "max_turns": 5,
        "max_actions_per_turn": 1,
        "max_actions": 5,
        "max_response_tokens": 300,
    }
    separator: ClassVar[str | None] = None
    answer_form: ClassVar[str] = "search[words]"
    split_by: Literal["hash", "own", "none"] = "own"
    info_metrics: ClassVar[Mapping[str, Reduction]] = {"searches": "last", "em": "last", "f1": "last"}
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "SearchQA": {},
        "SearchQA one hop": {"parameters": {"questions": "one_hop"}, "max_turns": 3, "max_actions": 3},
        "SearchQA bridge": {"parameters": {"questions": "bridge"}},
    }
    config: SearchParameters

    def __init__(self, config: SearchParameters) -> None:
        super().__init__(config)
        self.action_space = AnyText()
        self.observation_space = AnyText(min_length=1)
        self.question = SearchQuestion("", ())
        self.corpus: Corpus | None = None
        self.query: str | None = None  # the last search
        self.hits: list[Hit] = []  # and what it found
        self.searched: list[str] = []
        self.answer: str | None = None
        self.score = {"em": 0.0, "f1": 0.0}
        self.over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        seed = self.seeded(seed)
        given = self.config
        self.corpus = (
            from_files(given.path, given.held_out_path, given.max_questions) if given.path else shipped(given.questions)
        )
        if not self.corpus.articles and not given.server:
            raise ConfigError(
                f"{given.path} has questions without contexts, so there is nothing to search in.",
                remedy="Give a retrieval server, or a file with the column context.",
            )
        self.question = self.corpus.draw(seed, split_of(options))
        self.query, self.hits, self.searched, self.answer = None, [], [], None
        self.score, self.over = {"em": 0.0, "f1": 0.0}, False
        return self.render(), {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        text = self.checked_text(action, over=self.over)
        found = _ACTION.fullmatch(text)
        verb, content = (found[1].lower(), found[2].strip()) if found else ("", "")
        before, reward = self.render(), 0.0
        valid = bool(content) and len(content) <= (LONGEST_QUERY if verb == "search" else LONGEST_ANSWER)
        if valid and verb == "search":
            self._search(content)
        elif valid:
            reward = self._finish(content)
        info = step_info(
            valid=valid,
            effective=self.render() != before,
            success=self.score["em"] == 1,
            searches=len(self.searched),
            **self.score,
        )
        return self.render(), reward, self.over, False, info

    def _search(self, query: str) -> None:
        self.hits = self._hits(query)
        self.query = query
        self.searched.append(query)

    def _hits(self, query: str) -> list[Hit]:
        given = self.config
        if given.server:
            return client_for(given.server, given.protocol, given.timeout_seconds).search(query, given.max_results)
        if self.corpus is None:
            raise RuntimeError("There is no corpus yet; call reset first.")
        return index_of(self.corpus).search(query, given.max_results)

    def _finish(self, answer: str) -> float:
        self.answer, self.over = answer, True
        self.score = {"em": exact_match(answer, self.question.answers), "f1": f1(answer, self.question.answers)}
        if self.score["em"] == 1:
            return 1.0
        return (
            self.score["f1"] if self.score["f1"] >= self.config.f1_threshold and self.config.f1_threshold < 1 else 0.0
        )

    def action_names(self) -> None:
        return None

    def describe(self) -> str:
        return (
            f"search[words] shows up to {self.config.max_results} articles.\n"
            "finish[answer] ends with an answer of a few words: a name, a number, yes or no."
        )

    def render(self) -> str:
        lines = [f"Question: {self.question.text}"]
        if self.query is not None:
            lines += [f"Search: {self.query}", *(self._shown() or ["Nothing was found."])]
        if self.answer is not None:
            lines.append(f"Answer: {self.answer}")
        return "\n".join(lines)

    def _shown(self) -> list[str]:
        """The articles found, cut to the lengths that are set."""
        shown, left = [], self.config.max_characters
        for index, hit in enumerate(self.hits, 1):
            text = _cut(hit.article.text, self.config.max_article_characters)
            line = f"{index}. {hit.article.title}: {text}" if hit.article.title else f"{index}. {text}"
            shown.append(_cut(line, left))
            left -= len(shown[-1])
            if left <= 0:
                break
        return shown

    def drawing(self) -> Drawing:
        blocks: list[dict[str, Any]] = [{"kind": "heading", "text": self.question.text}]
        if self.searched[:-1]:
            blocks.append({"kind": "list", "text": [f"search[{query}]" for query in self.searched[:-1]]})
        if self.query is not None:
            blocks.append({"kind": "button", "text": f"search[{self.query}]", "state": "chosen"})
            blocks.append({"kind": "list", "text": self._shown() or ["Nothing was found."]})
        if self.answer is not None:
            blocks.append({"kind": "text", "text": f"Answer: {self.answer}"})
            blocks.append({"kind": "text", "text": f"Expected: {' or '.join(self.question.answers)}"})
        return {"type": "page", "title": "Search", "blocks": blocks}

    def problem(self) -> str:
        return self.question.text

    def random_action(self, rng: np.random.Generator) -> str:
        """A search for a word of the question, or a finish with one."""
        words = self.question.text.rstrip("?").split() or ["nothing"]
        return f"{('search', 'finish')[rng.integers(2)]}[{words[int(rng.integers(len(words)))]}]"

    def scripted_action(self, rng: np.random.Generator) -> str:
        """Searches for each article that the answer follows from, in their order, so that a second one is named by the
        first; then finishes with the expected answer. Where these are not known, it searches for the question."""
        wanted = self.question.supporting or (self.question.text[:LONGEST_QUERY],)
        missing = [title for title in wanted if _plain(title) not in self.searched]
        return f"search[{_plain(missing[0])}]" if missing else f"finish[{self.question.answers[0]}]"


def _plain(query: str) -> str:
    return query.strip()[:LONGEST_QUERY]


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length].rstrip()}..."
