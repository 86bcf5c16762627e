"""The script modules that a module imports, directly and indirectly, for `modulepreload`: the browser fetches all of
them at once instead of discovering them one level at a time."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path, PurePosixPath
from posixpath import normpath

from django.conf import settings

IMPORTED = re.compile(r"""^(?:import|export)\b[^"';]*?["'](\.{1,2}/[^"']+)["']""", re.MULTILINE)


def modules_of(name: str) -> list[str]:
    """Paths in the static folder: `name` first, importing modules before imported ones.

    Cached, except in debug mode, where files change.
    """
    folder = settings.BASE_DIR / "static"
    return list(_walk(folder, name) if settings.DEBUG else _walked(folder, name))


def _walk(folder: Path, name: str) -> tuple[str, ...]:
    found, left = [name], [name]
    while left:
        module = PurePosixPath(left.pop(0))
        for address in IMPORTED.findall((folder / module).read_text()):
            imported = normpath(module.parent / address)
            if imported not in found:
                found.append(imported)
                left.append(imported)
    return tuple(found)


_walked = cache(_walk)
