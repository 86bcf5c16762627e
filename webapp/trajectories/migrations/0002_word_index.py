"""The full-text index over `TrajectoryText`: FTS5 with triggers on SQLite, a generated `tsvector` column on PostgreSQL.

On SQLite a later migration that recreates the table, as most alterations do, drops the triggers and has to call
`create_index` again.
"""

from django.db import migrations

SQLITE = (
    """CREATE VIRTUAL TABLE trajectories_words USING fts5(
           run_id, thoughts, actions,
           content='trajectories_trajectorytext', content_rowid='trajectory_id', tokenize='unicode61')""",
    """CREATE TRIGGER trajectories_words_inserted AFTER INSERT ON trajectories_trajectorytext BEGIN
           INSERT INTO trajectories_words(rowid, run_id, thoughts, actions)
           VALUES (new.trajectory_id, new.run_id, new.thoughts, new.actions); END""",
    """CREATE TRIGGER trajectories_words_deleted AFTER DELETE ON trajectories_trajectorytext BEGIN
           INSERT INTO trajectories_words(trajectories_words, rowid, run_id, thoughts, actions)
           VALUES ('delete', old.trajectory_id, old.run_id, old.thoughts, old.actions); END""",
    """CREATE TRIGGER trajectories_words_updated AFTER UPDATE ON trajectories_trajectorytext BEGIN
           INSERT INTO trajectories_words(trajectories_words, rowid, run_id, thoughts, actions)
           VALUES ('delete', old.trajectory_id, old.run_id, old.thoughts, old.actions);
           INSERT INTO trajectories_words(rowid, run_id, thoughts, actions)
           VALUES (new.trajectory_id, new.run_id, new.thoughts, new.actions); END""",
)
# ASCII punctuation is replaced by spaces first: PostgreSQL would parse paths, tags and URLs, unlike SQLite's tokenizer.
POSTGRESQL = (
    r"""ALTER TABLE trajectories_trajectorytext ADD COLUMN words tsvector GENERATED ALWAYS AS (
           to_tsvector('simple', regexp_replace(thoughts || ' ' || actions, '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007f]+', ' ', 'g'))) STORED""",
    "CREATE INDEX trajectories_words ON trajectories_trajectorytext USING gin (words)",
)
DROP = {
    "sqlite": (
        "DROP TRIGGER trajectories_words_inserted", "DROP TRIGGER trajectories_words_deleted",
        "DROP TRIGGER trajectories_words_updated", "DROP TABLE trajectories_words",
    ),
    "postgresql": ("ALTER TABLE trajectories_trajectorytext DROP COLUMN words",),
}
CREATE = {"sqlite": SQLITE, "postgresql": POSTGRESQL}


def create_index(apps, schema_editor):
    _run(schema_editor, CREATE)


def drop_index(apps, schema_editor):
    _run(schema_editor, DROP)


def _run(schema_editor, statements):
    with schema_editor.connection.cursor() as cursor:
        for statement in statements[schema_editor.connection.vendor]:
            cursor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("trajectories", "0001_initial")]
    operations = [migrations.RunPython(create_index, drop_index)]
