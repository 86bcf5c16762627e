"""Where a model is, checked by its path alone, so that a form can do it. Torch-free."""

from __future__ import annotations

from pathlib import Path

from engine.errors import ModelError
from engine.revisions import without_revision

_MODELS = Path(__file__).parent.parent / "models" / "tiny"
BUNDLED: dict[str, Path] = {
    "tiny": _MODELS / "weights",
    "tiny-arithmetic": _MODELS / "arithmetic_weights",
    "tiny-bandit": _MODELS / "bandit_weights",
    "tiny-boards": _MODELS / "board_weights",
    "tiny-cube": _MODELS / "cube_weights",
    "tiny-rooms": _MODELS / "room_weights",
    "tiny-sokoban": _MODELS / "sokoban_weights",
}


LATEST = "main"  # what the Hub gives without a revision


def split_path(path: str) -> tuple[str, str]:
    """A model and its revision. A directory whose own name has an @ stays as it is."""
    return (path, "") if "@" not in path or _exists(path) else without_revision(path)


def model_source(path: str) -> str:
    """A directory or hub id, without its revision. Those that ship have names: `tiny`, `tiny-arithmetic`,
    `tiny-bandit`, `tiny-boards`, `tiny-cube`, `tiny-rooms`, `tiny-sokoban`."""
    name = split_path(path)[0]
    return str(BUNDLED.get(name, name))


def model_revision(path: str) -> str:
    return split_path(path)[1] or LATEST


def check_revision(path: str, revision: str) -> None:
    """`ModelError` for a revision of something other than a hub id: the files of a directory have none."""
    if revision and (path in BUNDLED or path.startswith((".", "/", "~")) or _exists(path)):
        what = "ships with Starboard" if path in BUNDLED else "is a directory"
        raise ModelError(
            f"model.revision {revision!r} is given, and the model {path} {what}, which has no revisions.",
            remedy="Leave model.revision empty, or give the id of a model on the Hub as model.path.",
        )


def check_model_path(path: str) -> None:
    """`ModelError` for a directory that is missing, has no model, or is given with a revision. Hub ids are not looked
    up."""
    check_revision(*split_path(path))
    source = model_source(path)
    exists = _exists(source)
    if (source.startswith((".", "/", "~")) or exists) and local_folder(path) is None:
        what = "is not a model directory: it has no config.json" if exists else "does not exist"
        of_checkpoint = f"{source.rstrip('/')}/model"
        remedy = (
            f"It is a checkpoint: give its model, {of_checkpoint}."
            if local_folder(of_checkpoint)
            else "Give the directory that holds config.json and the weights."
        )
        raise ModelError(f"The model directory {source} {what}.", remedy=remedy)


def local_folder(path: str) -> Path | None:
    """The directory with config.json; None if `path` is not one, or not a valid path."""
    try:
        folder = Path(model_source(path)).expanduser()
        return folder if (folder / "config.json").is_file() else None
    except (OSError, RuntimeError):  # the path is too long, or has an unknown user after ~
        return None


def _exists(source: str) -> bool:
    try:
        return Path(source).exists()
    except OSError:
        return False
