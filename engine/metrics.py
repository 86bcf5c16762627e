"""The glossary: meaning, unit and formula of every metric, and which values are bad. No torch.

Names are `area/name[/stat]`. `describe` has an entry for any name, so that a page can always explain what it shows. The
texts are in `engine.glossary`.
"""

from __future__ import annotations

import re
from dataclasses import replace

from engine.glossary import collapse, environment_numbers, gradient, learning, outcomes, running
from engine.glossary.foreign import FOREIGN_NAMES
from engine.glossary.types import Chart, Metric, Section

__all__ = [
    "FOREIGN_NAMES", "GLOSSARY", "OF_THE_MACHINE", "OVERVIEW", "SECTIONS", "Chart", "Metric", "Section", "describe",
    "section_of",
]  # fmt: skip

SECTIONS: tuple[Section, ...] = (
    Section("reward", "Reward"),
    Section("env", "Environments"),
    Section("eval", "Held-out evaluation"),
    Section("rollout", "Rollouts and format"),
    Section("policy", "Policy"),
    Section("value", "Critic"),
    Section("optim", "Optimisation"),
    Section("filter", "Filter"),
    Section("collapse", "Collapse"),
    Section("gradient", "Gradients"),
    Section("time", "Time"),
    Section("perf", "Throughput"),
    Section("system", "System"),
    Section("cluster", "Cluster"),
)

# How names begin of metrics that clocks and machines decide, not the policy or the seed.
OF_THE_MACHINE = ("time/", "perf/", "system/", "cluster/")

# the six that every run shows first
OVERVIEW: tuple[Chart, ...] = (
    Chart("Success", ("rollout/success", "eval/success")),
    Chart("Reward", ("reward/mean", "reward/within_group_std")),
    Chart("Policy entropy", ("policy/entropy",)),
    Chart("Mutual information", ("collapse/mi_ratio", "collapse/retrieval_above_chance")),
    Chart("Gradient norm", ("optim/grad_norm",)),
    Chart("Response length", ("rollout/response_tokens",)),
)

GLOSSARY: dict[str, Metric] = {
    entry.name: entry
    for entry in (
        *environment_numbers.ENTRIES,  # before those of outcomes, whose last one has any name
        *outcomes.ENTRIES,
        *learning.ENTRIES,
        *collapse.ENTRIES,
        *gradient.ENTRIES,
        *running.ENTRIES,
    )
}

_PLACEHOLDER = re.compile(r"<(tag|case|name)>")
# a tag is a user's text: it may hold anything, slashes too; a name is an identifier of an environment's author
_MATCHES = {"tag": "(?P<tag>.+)", "case": "(?P<case>.+)", "name": "(?P<name>[^/]+)"}
_PATTERNS = [
    (re.compile(_PLACEHOLDER.sub(lambda found: _MATCHES[found[1]], re.escape(name)) + r"\Z", re.DOTALL), entry)
    for name, entry in GLOSSARY.items()
    if _PLACEHOLDER.search(name)
]


def describe(name: str) -> Metric:
    """The entry of `name`, of the pattern it fits with its tag filled in, or a bare one made from the name."""
    if name in GLOSSARY:
        return GLOSSARY[name]
    for pattern, entry in _PATTERNS:
        if match := pattern.match(name):
            return replace(entry, name=name, title=_PLACEHOLDER.sub(lambda found: _words(match, found[1]), entry.title))
    area, _, rest = name.partition("/")
    title = (rest or area).replace("/", ": ").replace("_", " ")
    return Metric(
        name=name, section=section_of(name), title=title, meaning="Reported by the engine; the glossary has no entry."
    )


def _words(match: re.Match[str], placeholder: str) -> str:
    """What a placeholder stands for; of a name, its words."""
    return match[placeholder].replace("_", " ") if placeholder == "name" else match[placeholder]


def section_of(name: str) -> str:
    """The section of a metric, by its area; metrics of unknown areas are shown with the throughput."""
    area = name.partition("/")[0]
    return area if area in {section.key for section in SECTIONS} else "perf"
