"""Values into a form and out of it: what it shows, what was posted, and which field an error belongs to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from engine.section import TYPE
from webapp.forms.fields import FormField, Node, Variants, all_fields

Texts = Mapping[str, str]
SHOWN = "shown-variants"  # sent once for each variant whose inputs the browser had
UNSEEN = "These are the fields of {type}. Check them, then submit again."


def fill(nodes: Sequence[Node], values: Texts, base: Texts, errors: Texts) -> None:
    """Gives each input its value, the value of `base` (a preset) and its error, and makes one variant active."""
    for node in nodes:
        if isinstance(node, FormField):
            node.preset_value = base.get(node.name, node.default)
            node.value = values.get(node.name, node.preset_value)
            node.error = errors.get(node.name, "")
            continue
        fill([node.choice], values, base, errors)
        for variant in node.variants:
            variant.active = variant.type == node.choice.value
            fill(
                variant.nodes,
                values if variant.active else {},
                base if variant.type == node.choice.preset_value else {},
                errors if variant.active else {},
            )


def parse(nodes: Sequence[Node], values: Texts) -> tuple[dict[str, Any], dict[str, str]]:
    """Posted texts as nested data, and errors by name. Numbers stay texts, for pydantic to read.

    A name that was not posted is left out, so its default applies; a box that was not is off.
    """
    data: dict[str, Any] = {}
    errors: dict[str, str] = {}
    _parse(nodes, values, data, errors)
    return data, errors


def _parse(nodes: Sequence[Node], values: Texts, data: dict[str, Any], errors: dict[str, str]) -> None:
    for node in nodes:
        if isinstance(node, FormField):
            if node.kind == "bool" or node.name in values:
                try:
                    _put(data, node.name, _value(node, values.get(node.name, "")))
                except (ValueError, RecursionError) as error:
                    errors[node.name] = f"This is not JSON: {error}. Write it as the default is written."
        elif node.choice.name in values:
            chosen = values[node.choice.name]
            _put(data, node.choice.name, chosen)
            for variant in node.variants:
                if variant.type == chosen:
                    _parse(variant.nodes, values, data, errors)


def _value(node: FormField, text: str) -> Any:
    if node.optional and not text.strip():
        return None
    if node.kind == "bool":
        return text in ("on", "true")
    if node.kind == "json":
        return json.loads(text)
    if node.kind == "choice":
        return {str(choice): choice for choice in node.choices}.get(text.strip(), text)
    return text if node.kind in ("text", "long") else text.strip()


def _put(data: dict[str, Any], name: str, value: Any) -> None:
    *path, key = name.split(".")
    target = data
    for part in path:
        target = target.setdefault(part, {})
    target[key] = value


def posted(nodes: Sequence[Node], data: Texts) -> dict[str, str]:
    """What a browser sent, with a "false" for each box that is not ticked: it sends nothing for those."""
    ticks = {one.name: "false" for one in _boxes(nodes) if data.get(one.name) not in ("on", "true")}
    return {name: str(value) for name, value in data.items()} | ticks


def _boxes(nodes: Sequence[Node]) -> list[FormField]:
    """All boxes, those of variants that are not chosen as well."""
    found: list[FormField] = []
    for node in nodes:
        if isinstance(node, Variants):
            for variant in node.variants:
                found += _boxes(variant.nodes)
        elif node.kind == "bool":
            found.append(node)
    return found


def unseen(nodes: Sequence[Node], values: Texts, shown: Sequence[str]) -> dict[str, str]:
    """An error at each choice of a type whose inputs the browser did not have, as it happens without JavaScript.

    `shown` is what it sent as `SHOWN`, `algorithm=grpo` and the like; a client that sends none knows what it posts.
    """
    errors: dict[str, str] = {}
    for node in nodes if shown else ():
        if isinstance(node, FormField):
            continue
        chosen = values.get(node.choice.name, "")
        for variant in node.variants:
            if variant.type != chosen:
                continue
            if variant.nodes and f"{node.name}={chosen}" not in shown:
                errors[node.choice.name] = UNSEEN.format(type=chosen)
            else:
                errors |= unseen(variant.nodes, values, shown)
    return errors


def without_unseen(values: Texts, errors: Texts) -> dict[str, str]:
    """`values` without those under the choices that `unseen` found, whose inputs start from their defaults."""
    sections = [name.removesuffix(TYPE) for name in errors]
    return {name: text for name, text in values.items() if name in errors or not name.startswith(tuple(sections))}


def at_fields(errors: Texts, nodes: Sequence[Node]) -> dict[str, str]:
    """Errors by the inputs that exist: one inside a list or table belongs to the input that holds it."""
    names = {one.name for one in all_fields(nodes)}
    found: dict[str, str] = {}
    for name, reason in errors.items():
        path = name.split(".")
        known = next((".".join(path[:n]) for n in range(len(path), 0, -1) if ".".join(path[:n]) in names), name)
        found.setdefault(known, reason)
    return found
