"""The full-text indexes of the two databases. Created by the migration `0002_word_index`.

The database itself maintains them with the `TrajectoryText` rows: SQLite by triggers, PostgreSQL by a generated column.
So a row and its index entry change in one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from django.db import connection
from django.db.models import Q
from django.db.models.expressions import RawSQL

from webapp.trajectories.search.terms import Term, Terms


class Index(Protocol):
    id_column: str

    def matching(self, terms: Sequence[Term], run_ids: Sequence[str]) -> RawSQL:
        """A subquery of the ids of trajectories with every term, of `run_ids`, or of all runs if it is empty."""


class SqliteIndex:
    """FTS5 with quoted strings only: inside quotes there are no operators."""

    id_column = "rowid"

    def matching(self, terms: Sequence[Term], run_ids: Sequence[str]) -> RawSQL:
        condition = " AND ".join(self._quoted(term) for term in terms)
        words = "{thoughts actions} : (" + condition + ")"
        runs = " OR ".join(f'"{_plain(run_id)}"' for run_id in run_ids)
        match = f"run_id : ({runs}) AND {words}" if runs else words
        return RawSQL("SELECT rowid FROM trajectories_words WHERE trajectories_words MATCH %s", [match])

    def _quoted(self, term: Term) -> str:
        return f'"{" ".join(term.words)}"' + (" *" if term.open_ended else "")


class PostgresIndex:
    """`tsvector` in the `simple` configuration: words unchanged, as in FTS5, for any language."""

    id_column = "trajectory_id"

    def matching(self, terms: Sequence[Term], run_ids: Sequence[str]) -> RawSQL:
        condition = " && ".join("to_tsquery('simple', %s)" for _ in terms)
        values: list[str] = [self._phrase(term) for term in terms]
        table = "SELECT trajectory_id FROM trajectories_trajectorytext WHERE "
        scope = "run_id = ANY(%s) AND " if run_ids else ""
        # only placeholders are joined here
        return RawSQL(f"{table}{scope}words @@ ({condition})", [*([list(run_ids)] if run_ids else []), *values])  # noqa: S611

    def _phrase(self, term: Term) -> str:
        # the words are letters and digits only, so quoting is safe
        words = [f"'{word}'" for word in term.words]
        return " <-> ".join([*words[:-1], words[-1] + (":*" if term.open_ended else "")])


INDEXES: dict[str, Index] = {"sqlite": SqliteIndex(), "postgresql": PostgresIndex()}


def matching(terms: Terms, run_ids: Sequence[str] = ()) -> Q:
    """A condition on `Trajectory` rows."""
    return Q(pk__in=INDEXES[connection.vendor].matching(terms.terms, run_ids))


def first_matching(
    terms: Terms, run_ids: Sequence[str], *, count: int, descending: bool, beyond: int | None = None
) -> list[int]:
    """The first `count` ids of matching trajectories, in the order of ids, after the id `beyond`.

    The index is read in that order and no further, where the condition of `matching` is collected as a whole.
    """
    index = INDEXES[connection.vendor]
    condition = index.matching(terms.terms, run_ids)
    statement, values = condition.sql, list(condition.params)
    if beyond is not None:
        statement += f" AND {index.id_column} {'<' if descending else '>'} %s"
        values.append(beyond)
    statement += f" ORDER BY {index.id_column} {'DESC' if descending else 'ASC'} LIMIT %s"
    with connection.cursor() as cursor:
        cursor.execute(statement, [*values, count])
        return [pk for (pk,) in cursor.fetchall()]


def _plain(run_id: str) -> str:
    return "".join(character for character in run_id if character.isalnum())
