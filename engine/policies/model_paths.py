"""Where a model is, checked by its path alone, so that a form can do it. Torch-free."""

from __future__ import annotations

from pathlib import Path

from engine.errors import ModelError

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


def model_source(path: str) -> str:
    """A directory or hub id. Those that ship have names: `tiny`, `tiny-arithmetic`, `tiny-bandit`, `tiny-boards`,
    `tiny-cube`, `tiny-rooms`, `tiny-sokoban`."""
    return str(BUNDLED.get(path, path))


def check_model_path(path: str) -> None:
    """`ModelError` for a directory that is missing or has no model. Hub ids are not looked up."""
    source = model_source(path)
    exists = _exists(source)
    if (source.startswith((".", "/", "~")) or exists) and local_folder(path) is None:
        what = "is not a model directory: it has no config.json" if exists else "does not exist"
        raise ModelError(
            f"The model directory {source} {what}.", remedy="Give the directory that holds config.json and the weights."
        )


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
