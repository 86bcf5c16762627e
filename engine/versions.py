"""Versions of Python and of packages, to be recorded with results."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version


def versions_of(*packages: str) -> dict[str, str]:
    """Python's, and those of the `packages` that are installed."""
    found = {"python": platform.python_version()}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
