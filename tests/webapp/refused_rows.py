"""A table that the database adds no rows to, as if it failed there."""

from __future__ import annotations

from django.db import connection

REFUSE = {
    "sqlite": ["CREATE TRIGGER refuse BEFORE INSERT ON {table} BEGIN DELETE FROM no_such_table; END"],
    "postgresql": [
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no rows'; END $$",
        "CREATE TRIGGER refuse BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION refuse()",
    ],
}


def refuse_rows(table: str) -> None:
    """Until the transaction of the caller is rolled back."""
    with connection.cursor() as cursor:
        for statement in REFUSE[connection.vendor]:
            cursor.execute(statement.format(table=table))
