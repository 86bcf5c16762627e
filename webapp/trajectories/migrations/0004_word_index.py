"""The index of words over `TrajectoryText`.

On SQLite triggers keep it. A later migration that makes the table anew (most alterations do) loses them, and has to run
`make_index` again.
"""

from django.db import migrations

SQLITE = (
    """CREATE VIRTUAL TABLE trajectories_words USING fts5(
           run_id, thoughts, actions,
           content='trajectories_trajectorytext', content_rowid='trajectory_id', tokenize='unicode61')""",
    """CREATE TRIGGER trajectories_words_added AFTER INSERT ON trajectories_trajectorytext BEGIN
           INSERT INTO trajectories_words(rowid, run_id, thoughts, actions)
           VALUES (new.trajectory_id, new.run_id, new.thoughts, new.actions); END""",
    """CREATE TRIGGER trajectories_words_taken AFTER DELETE ON trajectories_trajectorytext BEGIN
           INSERT INTO trajectories_words(trajectories_words, rowid, run_id, thoughts, actions)
           VALUES ('delete', old.trajectory_id, old.run_id, old.thoughts, old.actions); END""",
    """CREATE TRIGGER trajectories_words_changed AFTER UPDATE ON trajectories_trajectorytext BEGIN
           INSERT INTO trajectories_words(trajectories_words, rowid, run_id, thoughts, actions)
           VALUES ('delete', old.trajectory_id, old.run_id, old.thoughts, old.actions);
           INSERT INTO trajectories_words(rowid, run_id, thoughts, actions)
           VALUES (new.trajectory_id, new.run_id, new.thoughts, new.actions); END""",
)
# ASCII signs become blanks first: PostgreSQL would read paths, tags and addresses in them, SQLite's tokenizer does not.
POSTGRESQL = (
    r"""ALTER TABLE trajectories_trajectorytext ADD COLUMN words tsvector GENERATED ALWAYS AS (
           to_tsvector('simple', regexp_replace(thoughts || ' ' || actions, '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007f]+', ' ', 'g'))) STORED""",
    "CREATE INDEX trajectories_words ON trajectories_trajectorytext USING gin (words)",
)
DROP = {
    "sqlite": (
        "DROP TRIGGER trajectories_words_added", "DROP TRIGGER trajectories_words_taken",
        "DROP TRIGGER trajectories_words_changed", "DROP TABLE trajectories_words",
    ),
    "postgresql": ("ALTER TABLE trajectories_trajectorytext DROP COLUMN words",),
}
MAKE = {"sqlite": SQLITE, "postgresql": POSTGRESQL}


def make_index(apps, schema_editor):
    _run(schema_editor, MAKE)


def drop_index(apps, schema_editor):
    _run(schema_editor, DROP)


def _run(schema_editor, statements):
    with schema_editor.connection.cursor() as cursor:
        for statement in statements[schema_editor.connection.vendor]:
            cursor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("trajectories", "0003_trajectory_text")]
    operations = [migrations.RunPython(make_index, drop_index)]
