"""The search engine of the shop: BM25 over stemmed words, by SQLite's FTS5, in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from threading import Lock

from engine.environments.webshop.text import STOP_WORDS, words
from engine.errors import ConfigError

MOST_WORDS = 40  # of a query; each is one more list to merge


class SearchIndex:
    """Finds the positions of documents. Threads may share it."""

    def __init__(self, documents: Iterable[str]) -> None:
        self._lock = Lock()
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        try:
            # without its contents, which nobody reads back
            self._database.execute(
                "CREATE VIRTUAL TABLE products USING fts5(text, content='', tokenize='porter unicode61')"
            )
        except sqlite3.OperationalError as error:
            raise ConfigError(
                f"SQLite {sqlite3.sqlite_version} of this Python has no full-text search: {error}.",
                remedy="Use a Python whose SQLite is built with FTS5, such as python.org's or uv's.",
            ) from error
        self._database.executemany("INSERT INTO products(rowid, text) VALUES (?, ?)", enumerate(documents))

    def search(self, query: str, limit: int) -> list[int]:
        """Positions of the best documents that have any word of `query`, best first."""
        terms = _terms(query)
        if not terms:
            return []
        # words are letters and digits, so quotes make each a term, never a keyword of FTS5
        expression = " OR ".join(f'"{term}"' for term in terms)
        with self._lock:
            rows = self._database.execute(
                "SELECT rowid FROM products WHERE products MATCH ? ORDER BY rank, rowid LIMIT ?", (expression, limit)
            ).fetchall()
        return [position for (position,) in rows]


def _terms(query: str) -> list[str]:
    """The distinct words of a query; stop words only if it has no others."""
    distinct = list(dict.fromkeys(words(query)))
    return ([word for word in distinct if word not in STOP_WORDS] or distinct)[:MOST_WORDS]
