"""Revisions of models on the Hub, as a part of their names: `organisation/model@revision`. No torch."""

from __future__ import annotations

import re

# a part that begins with a dot would leave the folder of the cache in which revisions are looked up
REVISION = r"\w[\w+-]*(\.[\w+-]+)*(/\w[\w+-]*(\.[\w+-]+)*)*"
HUB_ID = re.compile(r"\w[\w.-]*(/[\w.-]+)?")
VERSIONED = re.compile(rf"(?P<model>.+)@(?P<revision>{REVISION})")


def versioned(path: str, revision: str) -> str:
    """`path` at a branch, tag or commit, as everything that loads or inspects a model reads it."""
    return f"{path}@{revision}" if revision else path


def without_revision(path: str) -> tuple[str, str]:
    """The two that `versioned` combined; the second is empty if there is none."""
    found = VERSIONED.fullmatch(path)
    return (found["model"], found["revision"]) if found else (path, "")
