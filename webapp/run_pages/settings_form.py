"""The settings of a run in progress as the Control tab's form shows them."""

from __future__ import annotations

from engine.config.live import LIVE_FIELDS
from webapp.forms.fields import FormField, Node
from webapp.forms.run_config import flatten, sections
from webapp.forms.values import fill
from webapp.runs.live_settings import current
from webapp.runs.models import Run


def live_nodes(run: Run) -> list[Node]:
    """Inputs with the current values, compared with those at launch."""
    nodes = [node for section in sections() for node in section.nodes if node.name in LIVE_FIELDS]
    shown = [node for node in nodes if not node.name.startswith("detectors.")]
    launched = flatten(run.parsed_config().model_dump(mode="json"))
    fill(shown, flatten(current(run).model_dump(mode="json")), launched, {})
    for node in shown:
        _add_original(node, launched)
    return shown


def _add_original(node: Node, launched: dict[str, str]) -> None:
    """Adds the value at launch to the help of each field that had one."""
    if isinstance(node, FormField):
        node.help = f"{node.help} Launched with {node.preset_value}."
        node.essential = False  # this form has no part of its own for those
        return
    _add_original(node.choice, launched)
    for variant in node.variants:
        if variant.type == node.choice.preset_value:
            for inner in variant.nodes:
                _add_original(inner, launched)
