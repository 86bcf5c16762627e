"""A full-text index of articles: SQLite's FTS5, ranked by BM25."""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterable
from dataclasses import dataclass

TITLE_WEIGHT, TEXT_WEIGHT = 3.0, 1.0  # a word of the title counts three times one of the text
MOST_WORDS = 32  # of a query; the rest is ignored
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Article:
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """`score` is larger for better ones."""

    article: Article
    score: float
    identity: str = ""


class Index:
    """In memory. May be used from several threads, one at a time, but not from a process forked after it was made."""

    def __init__(self, articles: Iterable[Article]) -> None:
        self._lock = threading.Lock()
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.execute("CREATE VIRTUAL TABLE articles USING fts5(title, text, tokenize='porter unicode61')")
        rows = ((article.title, article.text) for article in articles)
        self._database.executemany("INSERT INTO articles VALUES (?, ?)", rows)
        self._database.commit()

    def __len__(self) -> int:
        with self._lock:
            return int(self._database.execute("SELECT count(*) FROM articles").fetchone()[0])

    def search(self, query: str, most: int) -> list[Hit]:
        """The best articles with any word of the query, best first; equally good ones in the order of the index."""
        words = list(dict.fromkeys(_WORD.findall(query.lower())))[:MOST_WORDS]
        if not words:
            return []
        statement = (
            "SELECT rowid, title, text, bm25(articles, ?, ?) AS score FROM articles WHERE articles MATCH ? "
            "ORDER BY score, rowid LIMIT ?"
        )
        with self._lock:
            found = self._database.execute(statement, (TITLE_WEIGHT, TEXT_WEIGHT, _any_of(words), most)).fetchall()
        return [Hit(Article(title, text), -score, f"doc_{row}") for row, title, text, score in found]


def _any_of(words: Iterable[str]) -> str:
    """An FTS5 query for any of the words. Words are quoted, as OR, NEAR, - and * are syntax outside of quotes."""
    return " OR ".join('"{}"'.format(word.replace('"', '""')) for word in words)
