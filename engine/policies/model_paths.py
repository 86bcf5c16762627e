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
    looks_local = source.startswith((".", "/", "~")) or Path(source).exists()
    if looks_local and not (Path(source).expanduser() / "config.json").is_file():
        what = "is not a model directory: it has no config.json" if Path(source).exists() else "does not exist"
        raise ModelError(
            f"The model directory {source} {what}.", remedy="Give the directory that holds config.json and the weights."
        )
