"""Which models users may name by a path: directories in `STARBOARD_MODEL_FOLDERS`, and those that ship.

A path elsewhere is refused before anything at it is looked at, with the same words whether or not it exists. Symlinks
count as what they point to. Ids of the Hub are no paths; a text that could be either is a path if the directory of the
program, in which engines run, has its first part.
"""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from engine.addresses import is_this_machine
from engine.errors import ModelError
from engine.policies.model_paths import BUNDLED, check_model_path
from engine.revisions import HUB_ID, without_revision
from webapp.environments.restrictions import is_administrator
from webapp.projects.reader import reader

NOT_IN_FOLDERS = "is not in a folder of models of this installation"
SHIPPED = next(iter(BUNDLED.values())).parent


def check_model(path: str) -> None:
    """`ModelError` for a model that the reader may not use, or that is none."""
    check_access(path)
    check_model_path(path)


def check_access(path: str) -> None:
    """`ModelError` for a path that the reader may not name. Workers and commands may name any."""
    user = reader()
    if user is None or path in BUNDLED or is_hub_id(path) or is_in_model_folders(path):
        return
    if is_administrator(user) and serves_this_machine_alone():
        return
    raise ModelError(
        f"{path[:200]} {NOT_IN_FOLDERS}.",
        remedy=f"Give a Hugging Face id, one of {', '.join(BUNDLED)}, or a directory in {_listed_folders()} "
        "(STARBOARD_MODEL_FOLDERS).",
    )


def check_adapter_access(path: str) -> None:
    """`check_access` for the directory of an adapter, which is never on the Hub."""
    user = reader()
    if user is None or is_in_model_folders(path) or (is_administrator(user) and serves_this_machine_alone()):
        return
    raise ModelError(
        f"{path[:200]} {NOT_IN_FOLDERS}.",
        remedy=f"Give a directory in {_listed_folders()} (STARBOARD_MODEL_FOLDERS).",
    )


def may_be_named(path: str) -> bool:
    try:
        check_access(path)
    except ModelError:
        return False
    return True


def is_in_model_folders(path: str) -> bool:
    if "\0" in path or path.startswith("~"):
        return False
    try:
        resolved = (settings.BASE_DIR / path).resolve()
        return any(resolved.is_relative_to(Path(root).resolve()) for root in _folders())
    except (OSError, RuntimeError):  # too long, or links in a circle
        return False


def is_hub_id(path: str) -> bool:
    """With a revision or without."""
    name, _ = without_revision(path)
    if not HUB_ID.fullmatch(name):
        return False
    try:
        return not any((settings.BASE_DIR / one.partition("/")[0]).exists() for one in (name, path))
    except OSError:  # too long to exist
        return True


def serves_this_machine_alone() -> bool:
    """Where whoever is an administrator reads the machine's files anyway."""
    return is_this_machine(settings.STARBOARD_BIND.strip("[]")) and not settings.STARBOARD_EXTRA_ORIGINS


def _listed_folders() -> str:
    return ", ".join(str(folder) for folder in settings.STARBOARD_MODEL_FOLDERS)


def _folders() -> list[Path]:
    return [SHIPPED, *settings.STARBOARD_MODEL_FOLDERS]
