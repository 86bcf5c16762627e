"""Where a model is: checked by name alone, so that a form can do it. Torch-free."""

from __future__ import annotations

from pathlib import Path

from engine.errors import ModelError

TINY = Path(__file__).parent.parent / "models" / "tiny" / "weights"


def model_source(path: str) -> str:
    """A directory or hub id; `tiny` is the model that ships."""
    return str(TINY) if path == "tiny" else path


def check_model_path(path: str) -> None:
    """`ModelError` for a directory that is missing or holds no model. A hub id is not looked up here."""
    source = model_source(path)
    there = _is_there(source)
    if (source.startswith((".", "/", "~")) or there) and local_folder(path) is None:
        what = "is not a model directory: it has no config.json" if there else "does not exist"
        raise ModelError(
            f"The model directory {source} {what}.", remedy="Give the directory that holds config.json and the weights."
        )


def local_folder(path: str) -> Path | None:
    """Where config.json lies, for a directory; None where there is none, or none that could be."""
    try:
        folder = Path(model_source(path)).expanduser()
        return folder if (folder / "config.json").is_file() else None
    except (OSError, RuntimeError):  # a name that is too long; a user who does not exist
        return None


def _is_there(source: str) -> bool:
    try:
        return Path(source).exists()
    except OSError:
        return False
