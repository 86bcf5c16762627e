"""Makes TextWorld's games from seeds, and keeps their files for the next time.

Making one takes seconds, most of them for its text and for compiling, so files are kept in the user's cache folder. The
oldest are removed when there are many.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from engine.errors import ConfigError

EXTRA: Final = "Install the extra: pip install 'starboard[alfworld]'."
MOST_GAMES: Final = 1000  # kept; one takes half a megabyte
CHALLENGES: Final = {
    "simple": "tw-simple",
    "coin_collector": "tw-coin_collector",
    "treasure_hunter": "tw-treasure_hunter",
    "cooking": "tw-cooking",
}
_ALONE = [threading.RLock()]
os.register_at_fork(after_in_child=lambda: _ALONE.__setitem__(0, threading.RLock()))


@contextmanager
def alone() -> Iterator[None]:
    """Lets one thread at a time into TextWorld, whose parsers keep their state in modules. Its translator for planners
    redirects the process's standard output meanwhile, and leaves other arguments in `sys.argv`."""
    with _ALONE[0]:
        arguments = sys.argv
        try:
            yield
        finally:
            sys.argv = arguments


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "starboard" / "textworld"


def game_file(game: str, settings: dict[str, Any], seed: int) -> Path:
    """The compiled game, made if it is not there yet."""
    module = textworld()
    key = json.dumps([module.__version__, game, settings, seed], sort_keys=True)
    folder = cache_folder() / hashlib.sha256(key.encode()).hexdigest()[:24]
    path = folder / "game.z8"
    if not path.is_file():
        with alone():
            if not path.is_file():
                _make(module, game, settings, seed, folder)
                _remove_oldest(cache_folder(), keep=MOST_GAMES)
    return path


def textworld() -> Any:
    """The library, with its challenges; `ConfigError` if it is not installed."""
    try:
        import_module("textworld.challenges")
        return import_module("textworld")
    except ImportError as error:
        raise ConfigError(f"TextWorld's games need textworld: {error}.", remedy=EXTRA) from error


def _make(module: Any, game: str, settings: dict[str, Any], seed: int, folder: Path) -> None:
    """Into a folder of its own, which then takes the name: other processes see a whole game or none."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="making-", dir=folder.parent))
    try:
        options = module.GameOptions()
        options.seeds = seed
        options.path = str(scratch / "game.z8")
        made = module.challenges.CHALLENGES[CHALLENGES[game]][1](settings, options)
        module.generator.compile_game(made, options)
        (scratch / "game.ni").unlink(missing_ok=True)
        try:
            scratch.rename(folder)
        except OSError:  # another process was faster
            if not (folder / "game.z8").is_file():
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _remove_oldest(folder: Path, *, keep: int) -> None:
    games = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in games[keep:]:
        shutil.rmtree(path, ignore_errors=True)
