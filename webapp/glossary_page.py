"""The glossary as a page: every metric with its formula, its source, what bad looks like and what to do then."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from engine.diagnostics.default_rules import DEFAULT_RULES
from engine.glossary.sources import source_of
from engine.glossary.types import Metric
from engine.metrics import GLOSSARY, SECTIONS

ADVICE = {rule.metric: rule.advice for rule in reversed(DEFAULT_RULES) if rule.advice}
_NO_WORD = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    metric: Metric
    anchor: str
    source: str
    advice: str


def anchor_of(name: str) -> str:
    """The end of the address of a metric on the page: `policy-kl`."""
    return _NO_WORD.sub("-", name.lower()).strip("-")


def sections() -> list[dict[str, Any]]:
    """The entries by section, in the order of a run's page."""
    found: dict[str, list[Entry]] = {section.key: [] for section in SECTIONS}
    for metric in GLOSSARY.values():
        found[metric.section].append(
            Entry(
                metric=metric,
                anchor=anchor_of(metric.name),
                source=source_of(metric.name),
                advice=ADVICE.get(metric.name, ""),
            )
        )
    return [{"title": section.title, "key": section.key, "entries": found[section.key]} for section in SECTIONS]


def index() -> list[dict[str, str]]:
    """Titles and anchors, for the palette."""
    return [{"title": metric.title, "name": name, "anchor": anchor_of(name)} for name, metric in GLOSSARY.items()]
