"""Environments of others: from the scaffold, by dotted path, and by the entry point of an installed package."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.__main__ import main
from engine.config import build_config
from engine.environments import registry
from engine.environments.scaffold.command import create, interpreter
from engine.errors import ConfigError


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of the scaffold whose folder is on the path, as after an installation in place."""
    directory = tmp_path / "long_corridor"
    create("long_corridor", directory)
    monkeypatch.syspath_prepend(str(directory))
    registry.installed_kinds.cache_clear()
    yield directory
    sys.modules.pop("long_corridor", None)
    registry.installed_kinds.cache_clear()


def install(package: Path) -> None:
    """The metadata that an installation writes, which is where Python looks for entry points."""
    metadata = package / "long_corridor-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: long-corridor\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text("[starboard.environments]\nlong_corridor = long_corridor:LongCorridor\n")
    registry.installed_kinds.cache_clear()


def test_a_new_package_passes_its_own_tests(package: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(package), str(package)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{package}:{Path(__file__).parents[3]}"},
    )
    assert "3 passed" in done.stdout, done.stdout + done.stderr


def test_a_dotted_path_is_a_kind(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-env", "long_corridor:LongCorridor", "--set", "length=5"]) == 0
    assert "satisfies the contract" in capsys.readouterr().out


def test_an_installed_package_adds_its_kind_with_its_parameters(package: Path) -> None:
    install(package)
    assert list(registry.environment_kinds())[-1] == "long_corridor"
    config = build_config({"environments": [{"kind": "long_corridor", "parameters": {"length": 9}}]})
    environment = registry.environment_of(config.environments[0])
    assert len(environment.reset(seed=1)[0]) == 9
    assert config.environments[0].tag == "Long corridor"


def test_a_package_cannot_replace_one_of_our_kinds(package: Path) -> None:
    install(package)
    entries = package / "long_corridor-0.1.0.dist-info/entry_points.txt"
    entries.write_text("[starboard.environments]\nsokoban = long_corridor:LongCorridor\n")
    registry.installed_kinds.cache_clear()
    assert registry.environment_class("sokoban").__module__ == "engine.environments.sokoban"


def test_a_package_that_fails_to_import_is_named_with_its_error(package: Path) -> None:
    install(package)
    (package / "long_corridor.py").write_text("raise OSError('no display')\n")
    with pytest.raises(ConfigError, match=r"'long_corridor' cannot be imported from .*OSError: no display"):
        registry.environment_class("long_corridor")


@pytest.mark.parametrize(("kind", "why"), [("os:path", "not an environment"), ("no_such:Thing", "cannot be imported")])
def test_a_path_that_leads_to_no_environment_is_refused(kind: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        registry.environment_class(kind)


@pytest.mark.parametrize("name", ["Maze", "1maze", "a", "class", "maze-2", "sokoban", "json", "../maze"])
def test_a_name_that_cannot_be_a_kind_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        create(name, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_nothing_is_overwritten(package: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not empty"):
        create("other_maze", package)


def test_the_command_says_what_to_do_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new-environment", "my_maze"]) == 0
    assert sorted(path.name for path in (tmp_path / "my_maze").iterdir()) == [
        "my_maze.py",
        "pyproject.toml",
        "test_my_maze.py",
    ]
    said = capsys.readouterr().out
    assert f"PYTHONPATH=my_maze {sys.executable} -m engine check-env my_maze:MyMaze" in said
    assert f"uv pip install --python {sys.executable} -e my_maze" in said


def test_the_interpreter_is_named_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv" / "bin" / "python"))
    assert interpreter() == Path(".venv/bin/python")
