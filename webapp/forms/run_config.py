"""`RunConfig` as the sections of a form; a new field of the engine appears here by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.config import RunConfig
from engine.section import section_class, variants_of
from webapp.forms import values
from webapp.forms.fields import FormField, Node, all_fields, fields_of, nodes_of
from webapp.forms.texts import flatten

__all__ = [
    "ELSEWHERE",
    "ESSENTIALS",
    "ConfigSection",
    "essentials",
    "fill",
    "flatten",
    "nested",
    "posted",
    "sections",
    "unseen",
]

# chosen elsewhere: environments by version, the label by the preset, alert rules in their own editor
ELSEWHERE = frozenset({"environments", "preset", "detectors.rules"})
# what most people set, in the order in which they think of it; shown first, and not in their sections
ESSENTIALS = {
    "model.path": "Model",
    "algorithm.type": "Algorithm",
    "steps": "Steps",
    "seed": "Seeds",
    "rollout.groups": "Groups (problems per step)",
    "rollout.group_size": "Group size (trajectories per problem)",
    "optimizer.learning_rate": "Learning rate",
    "rollout.max_context_tokens": "Context (tokens)",
    "evaluation.every": "Steps between evaluations",
    "backend": "Backend",
}
SECTION_TITLES = {
    "": "Run",
    "model": "Model",
    "rollout": "Rollout",
    "algorithm": "Algorithm",
    "loss": "Loss",
    "filter": "Group filter",
    "optimizer": "Optimizer",
    "diagnostics": "Collapse diagnostics",
    "evaluation": "Held-out evaluation",
    "checkpoint": "Checkpoints",
    "capture": "Recorded trajectories",
    "stop": "Early stopping",
    "detectors": "Actions after an alert",
    "cluster": "Cluster",
}


@dataclass(slots=True, kw_only=True)
class ConfigSection:
    key: str
    title: str
    nodes: list[Node]

    @property
    def fields(self) -> list[FormField]:
        """The inputs that are shown."""
        return list(all_fields(self.nodes))

    @property
    def changed(self) -> int:
        """How many of them differ from the preset."""
        return sum(field.changed for field in self.fields if not field.essential)


def sections() -> list[ConfigSection]:
    """Every field of a run but its environments, in the order of the config."""
    own = ConfigSection(key="", title=SECTION_TITLES[""], nodes=[])
    found = [own]
    for name, info in RunConfig.model_fields.items():
        if name in ELSEWHERE:
            continue
        section = section_class(info)
        if section is None and not variants_of(info):
            own.nodes += nodes_of(name, info)
            continue
        nodes = fields_of(section, f"{name}.", without=ELSEWHERE) if section else nodes_of(name, info)
        found.append(ConfigSection(key=name, title=SECTION_TITLES.get(name, name.capitalize()), nodes=nodes))
    for node in _nodes(found):
        inner = node if isinstance(node, FormField) else node.choice
        if inner.name in ESSENTIALS:
            inner.essential, inner.label = True, ESSENTIALS[inner.name]
    values.fill(_nodes(found), {}, {}, {})
    return found


def essentials(form: list[ConfigSection]) -> list[Node]:
    """The inputs of `ESSENTIALS`, in its order."""
    by_name = {(node if isinstance(node, FormField) else node.choice).name: node for node in _nodes(form)}
    return [by_name[name] for name in ESSENTIALS]


def fill(
    form: list[ConfigSection], texts: Mapping[str, str], preset: Mapping[str, str], errors: Mapping[str, str]
) -> list[ConfigSection]:
    """Gives each field its value, the preset's value and its error."""
    values.fill(_nodes(form), texts, preset, errors)
    return form


def posted(data: Mapping[str, str]) -> dict[str, str]:
    """What a form sent, with a "false" for each box that is not ticked."""
    return values.posted(_nodes(sections()), data)


def unseen(texts: Mapping[str, str], shown: Sequence[str]) -> dict[str, str]:
    """Errors for types that were chosen without their fields in view; see `webapp.forms.values`."""
    return values.unseen(_nodes(sections()), texts, shown)


def nested(texts: Mapping[str, str]) -> dict[str, Any]:
    """What a form posted, as the dictionary that `RunConfig` is built from."""
    data, _ = values.parse(_nodes(sections()), texts)
    return data


def _nodes(form: list[ConfigSection]) -> list[Node]:
    return [node for section in form for node in section.nodes]
