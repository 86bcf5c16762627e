"""What a process loads at startup. import-linter reads imports; only a real process shows what a package pulls in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
TRAINING_STACK = ["torch", "transformers", "ray", "vllm", "peft"]
SITE = ["django", "celery", "channels", "redis", "kombu"]

ALL_MODULES = """
import importlib, pkgutil, sys
import engine
for module in pkgutil.walk_packages(engine.__path__, "engine."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""


EACH = """
import importlib, json, sys
found = {{}}
for module in {modules!r}:
    importlib.import_module(module)
    found[module] = [name for name in {wanted!r} if name in sys.modules]
print("LOADED", json.dumps(found))
"""


def loaded_by(code: str, wanted: list[str], data_dir: Path) -> list[str]:
    """Which of the packages in `wanted` are loaded in a fresh interpreter that has run the code."""
    report = f"import sys; print('LOADED', *[name for name in {wanted!r} if name in sys.modules])"
    return run(f"{code}\n{report}", data_dir).rsplit("LOADED", 1)[1].split()


def loaded_by_each(modules: list[str], wanted: list[str], data_dir: Path) -> dict[str, list[str]]:
    """Likewise for each of the modules: what is loaded after those before it, in one interpreter, and it."""
    printed = run(EACH.format(modules=modules, wanted=wanted), data_dir)
    return dict(json.loads(printed.rsplit("LOADED", 1)[1]))


def run(code: str, data_dir: Path) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        env={**os.environ, "STARBOARD_DATA_DIR": str(data_dir), "DJANGO_SETTINGS_MODULE": "webapp.settings"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


LIGHT = [
    "engine.algorithms.filters",  # pages preview other filters
    "engine.config",
    "engine.events",
    "engine.environments",
    "engine.metrics",
    "engine.play",
    "engine.rollout.trajectory_files",
    "engine.rollout.chat_text",
    "engine.foreign.run_directory",
    "engine.what_if.request",
    "engine.forking",  # a site keeps the checkpoint that a fork starts from
    "engine.diagnostics.recordings",  # and tests rules on recorded steps
    "engine.statistics.clustered",
    "engine.cluster.checks",  # a form checks what a cluster can do
    "engine.cluster.environment_actors",  # there may be many, and each must start fast
    "engine.model_export.card",
    "engine.evaluation.command",  # an endpoint is evaluated without torch
]
STATISTICS = [
    f"engine.statistics.{name}"
    for name in ("proportions", "means", "clustered", "bootstrap", "paired", "multiple_comparisons")
]


def test_lightweight_engine_modules_load_no_training_stack(tmp_path: Path) -> None:
    assert loaded_by_each(LIGHT, TRAINING_STACK, tmp_path) == {module: [] for module in LIGHT}


def test_statistics_load_scipy_only_when_called(tmp_path: Path) -> None:
    assert loaded_by_each(STATISTICS, ["scipy"], tmp_path) == {module: [] for module in STATISTICS}


@pytest.mark.slow
def test_the_web_process_loads_no_training_stack(tmp_path: Path) -> None:
    every_page = "import webapp.asgi; from django.urls import get_resolver; get_resolver().url_patterns"
    assert loaded_by(every_page, [*TRAINING_STACK, "scipy"], tmp_path) == []


@pytest.mark.slow
def test_a_worker_loads_no_training_stack(tmp_path: Path) -> None:
    code = "import django; django.setup(); import workers.app, workers.tasks, workers.clock"
    assert loaded_by(code, TRAINING_STACK, tmp_path) == []


@pytest.mark.slow
def test_the_engine_loads_no_web_code(tmp_path: Path) -> None:
    loaded = loaded_by(ALL_MODULES, [*SITE, "torch"], tmp_path)
    assert loaded == ["torch"]  # so it loaded everything


@pytest.mark.slow
def test_the_probe_lists_loaded_modules(tmp_path: Path) -> None:
    assert loaded_by("import django", ["django", "torch"], tmp_path) == ["django"]
