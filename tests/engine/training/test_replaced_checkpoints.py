"""A step that is saved again has a good checkpoint whenever the engine is killed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engine.training.checkpoint_folder import remove_partial, replace_folder


class Killed(BaseException):
    """The engine was, at this point."""


def folder(path: Path, content: str) -> Path:
    path.mkdir()
    (path / "model").write_text(content)
    return path


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_the_new_folder_has_the_name_and_the_old_one_is_gone(tmp_path: Path) -> None:
    target = folder(tmp_path / "step_4", "old")
    replace_folder(folder(tmp_path / ".step_4.part", "new"), target)
    assert (names(tmp_path), (target / "model").read_text()) == (["step_4"], "new")
    replace_folder(folder(tmp_path / ".step_5.part", "first"), tmp_path / "step_5")
    assert names(tmp_path) == ["step_4", "step_5"]


@pytest.mark.parametrize(
    ("kills_at", "left"),
    [
        (("rmtree", 1), "old"),  # before anything
        (("rename", 1), "old"),  # before the old one is set aside
        (("rename", 2), "old"),  # after that, before the new one has the name
        (("rmtree", 2), "new"),  # before the old one is removed
    ],
)
def test_one_of_the_two_is_whole_wherever_it_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kills_at: tuple[str, int], left: str
) -> None:
    target, part = folder(tmp_path / "step_4", "old"), folder(tmp_path / ".step_4.part", "new")
    calls: list[str] = []
    real = {"rename": Path.rename, "rmtree": shutil.rmtree}

    def watched(name: str) -> object:
        def call(*arguments: object, **options: object) -> object:
            calls.append(name)
            if (name, calls.count(name)) == kills_at:
                raise Killed
            return real[name](*arguments, **options)  # type: ignore[operator]

        return call

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(Path, "rename", watched("rename"))
        patched.setattr(shutil, "rmtree", watched("rmtree"))
        replace_folder(part, target)
    remove_partial(tmp_path)
    assert (names(tmp_path), (target / "model").read_text()) == (["step_4"], left)
