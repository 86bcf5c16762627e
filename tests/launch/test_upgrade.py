"""An upgrade while an engine of the old version trains: the new version has another event, another field of one that
was there, and another column, and goes on with the run."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from engine.config import RunConfig
from tests.launch.deployment import Deployment, wait_for
from tests.launch.installation import REPOSITORY

pytestmark = pytest.mark.slow

FOLDERS = ("engine", "webapp", "workers", "templates", "static", "tests", "benchmarks")
SETTINGS = "benchmarks.paced_settings"  # the engine is the stand-in of the tests
NEW_EVENT = """class Sneezed(EventBase):
    kind: Literal["sneezed"] = "sneezed"
    times: int


"""
MIGRATION = """from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0001_initial")]
    operations = [migrations.AddField("run", "mood", models.TextField(db_default="calm"))]
"""
ROWS = (
    "from webapp.runs.models import Run, RunEvent; run = Run.objects.get(); "
    "print((run.state, run.step, run.attempt, run.last_seq, run.steps.count(), "
    "{*run.events.values_list('seq', flat=True), *run.steps.values_list('seq', flat=True)} == "
    "{*range(1, run.last_seq + 1)}, getattr(run, 'mood', '')))"
)
STOP = (
    "from webapp.runs.models import Run; from webapp.runs.services import request_stop; request_stop(Run.objects.get())"
)


def copy_of_the_code(folder: Path) -> Path:
    for name in FOLDERS:
        shutil.copytree(REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "manage.py", folder)
    return folder


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def upgraded(folder: Path) -> Path:
    copy_of_the_code(folder)
    events = folder / "engine/events.py"
    replace(
        events,
        "Event = Annotated[\n    RunStarted\n",
        f"{NEW_EVENT}Event = Annotated[\n    Sneezed\n    | RunStarted\n",
    )
    replace(
        events,
        '    detail: str = ""\n\n\nclass StepCompleted',
        '    detail: str = ""\n    why: str = ""\n\n\nclass StepCompleted',
    )
    notes = '    notes = models.TextField(blank=True, default="")\n'
    replace(folder / "webapp/runs/models/run.py", notes, f'{notes}    mood = models.TextField(db_default="calm")\n')
    (folder / "webapp/runs/migrations/0002_run_mood.py").write_text(MIGRATION)
    return folder


def test_a_run_goes_on_while_site_and_worker_are_upgraded(tmp_path: Path) -> None:
    with Deployment(tmp_path) as one:
        one.code = copy_of_the_code(tmp_path / "old")
        one.start_redis()
        one.prepare()
        worker = one.start_worker("old worker", DJANGO_SETTINGS_MODULE=SETTINGS)
        one.submit(RunConfig.model_validate({"steps": 100_000, "description": "step_seconds=0.1"}), "run")

        def rows() -> tuple[str, int, int, int, int, bool, str]:
            found: tuple[str, int, int, int, int, bool, str] = ast.literal_eval(one.ask(ROWS).splitlines()[-1])
            return found

        wait_for(lambda: rows()[1] >= 5, "five steps")
        one.code = upgraded(tmp_path / "new")
        one.manage("migrate")
        migrated = rows()
        wait_for(lambda: rows()[1] >= migrated[1] + 5, "five steps by the old worker in the new tables")
        worker.terminate()
        worker.wait(30)
        before = rows()
        one.start_worker("new worker", DJANGO_SETTINGS_MODULE=SETTINGS)
        wait_for(lambda: rows()[1] >= before[1] + 20, "twenty more steps")
        one.ask(STOP)
        wait_for(lambda: rows()[0] == "stopped", "a stopped run")

        _, step, attempt, last_seq, steps, complete, mood = rows()
        record = next((tmp_path / "data/runs").glob("*/events.jsonl")).read_bytes()
        assert (attempt, mood) == (1, "calm")  # the engine was never restarted
        assert (steps, complete) == (step, True)
        assert last_seq == record.count(b"\n")
