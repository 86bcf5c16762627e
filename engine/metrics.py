"""The glossary: what every metric means, its unit and formula, and what bad looks like. Torch-free.

Names are `area/name[/stat]`. `describe` answers for any name, so a page can always explain what it shows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.metric_entries import ENTRIES, FOREIGN_NAMES, OVERVIEW, SECTIONS
from engine.metric_types import Metric

__all__ = ["FOREIGN_NAMES", "GLOSSARY", "OVERVIEW", "SECTIONS", "Metric", "Section", "describe", "section_of"]

GLOSSARY: dict[str, Metric] = {entry.name: entry for entry in ENTRIES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Metrics that are looked at together."""

    key: str
    title: str


def describe(name: str) -> Metric:
    """The entry of `name`; patterns such as `env/<tag>/success` answer for their members, anything else for itself."""
    if name in GLOSSARY:
        return GLOSSARY[name]
    parts = name.split("/")
    if len(parts) >= 3:
        pattern = f"{parts[0]}/<{'case' if parts[:2] == ['rollout', 'parse'] else 'tag'}>/{parts[-1]}"
        if parts[:2] == ["rollout", "parse"]:
            pattern = "rollout/parse/<case>"
        if pattern in GLOSSARY:
            inner = parts[-1] if parts[:2] == ["rollout", "parse"] else "/".join(parts[1:-1])
            entry = GLOSSARY[pattern]
            return replace(entry, name=name, title=entry.title.replace("<tag>", inner).replace("<case>", inner))
    return Metric(name=name, title=parts[-1].replace("_", " "), meaning="Reported by the engine.", section=parts[0])


def section_of(name: str) -> str:
    return describe(name).section
