"""The definition of a suite as inputs: its name, and for each item an environment, problems, sampling and budgets.

`SuiteForm.data` is the definition that the inputs stand for, as TOML would have it; `webapp.suites.drafts` checks it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import AnonymousUser, User

from engine.config import EnvironmentConfig
from engine.environments import environment_class, environment_kinds
from engine.errors import ConfigError
from engine.suites.resolve import ItemDraft, SuiteDraft
from engine.suites.suite import MOST_ITEMS
from webapp.environments.restrictions import is_administrator, refused_class, why_restricted
from webapp.forms.fields import Node, all_fields, fields_of
from webapp.forms.texts import flatten, text_of
from webapp.forms.values import at_fields, fill, parse, posted
from webapp.suites.definition_text import plain_of
from webapp.suites.drafts import saved_environments
from webapp.suites.item_inputs import BUDGETS, PROBLEMS, item_nodes, seeds_of, seeds_text

HEAD = ["name", "title", "description"]
SHOWN = {"kind", "tag", "parameters", "instruction", *BUDGETS}  # of an environment; the rest is kept as it is
DEFAULT_KIND = "frozen_lake"
SAVED = "saved-"  # followed by the key of a version
INDEX = re.compile(r"items\.(\d{1,3})\.")


@dataclass(frozen=True, slots=True)
class Choice:
    """An option of an item's environment, and the configuration that it stands for."""

    value: str
    name: str
    label: str
    config: Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class ItemForm:
    """One item. `rest` has what the form has no inputs for, as JSON: it stays as it is."""

    index: int
    choice: str
    nodes: dict[str, list[Node]]
    values: dict[str, str]
    rest: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    listed: frozenset[str] = frozenset()  # choices that have an option

    @property
    def prefix(self) -> str:
        return f"items.{self.index}."

    @property
    def title(self) -> str:
        return f"Item {self.index + 1}"

    @property
    def rest_text(self) -> str:
        return json.dumps(self.rest)

    @property
    def also(self) -> str:
        """What else the environment has, in words."""
        return ", ".join(name.replace("_", " ") for name in self.rest)

    @property
    def is_unlisted(self) -> bool:
        """A kind that is not among the options, such as a class of an administrator."""
        return not self.choice.startswith(SAVED) and self.choice not in self.listed

    @property
    def changed(self) -> int:
        """How many parameters are not the kind's own."""
        return sum(one.value != one.default for one in all_fields(self.nodes["parameters"]))

    @property
    def opens_parameters(self) -> bool:
        return any(name.startswith(f"{self.prefix}environment.parameters.") for name in self.errors)

    @property
    def opens_instruction(self) -> bool:
        return f"{self.prefix}environment.instruction" in self.errors

    @property
    def choice_error(self) -> str:
        names = (f"{self.prefix}environment", f"{self.prefix}environment.kind")
        return " ".join(self.errors[name] for name in names if name in self.errors)

    def all_nodes(self) -> list[Node]:
        return [node for nodes in self.nodes.values() for node in nodes]


class SuiteForm:
    """Filled in from a draft (`of_draft`) or from what was posted (`of_post`)."""

    def __init__(self, user: User | AnonymousUser | None) -> None:
        self.head = _head()
        self.items: list[ItemForm] = []
        self.unread: dict[str, str] = {}  # errors of inputs that cannot be read
        self.unseen: dict[str, str] = {}  # of items whose environment was changed, so that its fields are new
        self.saved = [
            Choice(f"{SAVED}{one.pk}", one.definition.name, f"{one.definition.name} (version {one.number})", one.config)
            for one in saved_environments()
            if _kind_exists(one.kind)
        ]
        self.kinds = [
            Choice(kind, environment_class(kind).title, environment_class(kind).title, {"kind": kind})
            for kind in _kinds_for(user)
        ]
        self.user = user

    @classmethod
    def of_draft(cls, draft: SuiteDraft, user: User | AnonymousUser | None) -> SuiteForm:
        form = cls(user)
        fill(form.head, flatten(draft.model_dump(mode="json", include=set(HEAD))), {}, {})
        form.items = [form._item_of(index, item) for index, item in enumerate(draft.items)]
        return form

    @classmethod
    def of_post(cls, data: Mapping[str, str], user: User | AnonymousUser | None) -> SuiteForm:
        """An item whose environment was changed starts from that one's fields."""
        form = cls(user)
        fill(form.head, data, {}, {})
        indexes = sorted({int(found[1]) for name in data if (found := INDEX.match(name))})[:MOST_ITEMS]
        for index, before in enumerate(indexes):
            form.items.append(form._posted_item(index, _moved(data, before, index)))
        return form

    @property
    def data(self) -> dict[str, Any]:
        """The definition. Texts of numbers stay texts, for pydantic to read."""
        head, _ = parse(self.head, {one.name: one.value for one in all_fields(self.head)})
        return {**head, "items": [self._item_data(item) for item in self.items]}

    @property
    def is_full(self) -> bool:
        return len(self.items) >= MOST_ITEMS

    def show(self, errors: Mapping[str, str]) -> dict[str, str]:
        """Puts each error at its input, and returns those that have none."""
        nodes = [*self.head, *(node for item in self.items for node in item.all_nodes())]
        found = at_fields(errors, nodes)
        for item in self.items:
            item.errors = {name: why for name, why in found.items() if name.startswith(item.prefix)}
            fill(item.all_nodes(), item.values, item.values, item.errors)
        head = {one.name: one.value for one in all_fields(self.head)}
        fill(self.head, head, head, found)
        known = {one.name for one in all_fields(nodes)} | {
            f"{item.prefix}{name}" for item in self.items for name in ("environment", "environment.kind")
        }
        return {name: why for name, why in found.items() if name not in known}

    def add(self) -> None:
        index = len(self.items)
        item = {"name": f"Item {index + 1}", "environment": {"kind": DEFAULT_KIND}}
        self.items.append(self._item_of(index, ItemDraft.model_validate(item)))

    def remove(self, index: int) -> None:
        kept = [item for item in self.items if item.index != index]
        self.items = [self._posted_item(new, _moved(_texts(item), item.index, new)) for new, item in enumerate(kept)]

    def copy(self, index: int) -> None:
        source = next((item for item in self.items if item.index == index), None)
        if source is not None and not self.is_full:
            new = len(self.items)
            texts = _moved(_texts(source), index, new)
            texts[f"items.{new}.name"] = f"{texts.get(f'items.{new}.name', '')} (copy)"[:60]
            self.items.append(self._posted_item(new, texts))

    def _item_of(self, index: int, item: ItemDraft) -> ItemForm:
        prefix = f"items.{index}."
        config = item.environment
        whole = config.model_dump(mode="json")
        [plain] = plain_of(SuiteDraft(name="any", items=[item]))["items"]
        parameters = environment_class(config.kind).Config(**config.parameters).model_dump(mode="json")
        values = {
            **flatten(item.model_dump(mode="json", exclude={"environment"}), prefix),
            f"{prefix}seeds": seeds_text(item.seeds),
            **{f"{prefix}environment.{name}": text_of(whole[name]) for name in ("instruction", *BUDGETS)},
            **{f"{prefix}environment.parameters.{name}": text_of(value) for name, value in parameters.items()},
        }
        rest = {name: value for name, value in plain["environment"].items() if name not in SHOWN}
        return self._filled(index, self._choice_of(config), config.kind, values, rest)

    def _posted_item(self, index: int, texts: Mapping[str, str]) -> ItemForm:
        prefix = f"items.{index}."
        choice, shown = texts.get(f"{prefix}choice", ""), texts.get(f"{prefix}shown", "")
        known = {one.value: one for one in [*self.saved, *self.kinds]}
        chosen = known.get(choice)
        if chosen is None and not refused_class(choice, _user(self.user)):
            chosen = Choice(choice, choice[:60], choice, {"kind": choice})
        if chosen is None or not _kind_exists(str(chosen.config["kind"])):
            self.unread[f"{prefix}environment"] = "Choose one of the environments that are listed."
            chosen = known[DEFAULT_KIND]
        elif choice != shown:
            return self._with_environment(index, texts, chosen)
        kind = str(chosen.config["kind"])
        nodes = item_nodes(prefix, kind)
        values = posted([node for group in nodes.values() for node in group], texts)
        return self._filled(index, chosen.value, kind, values, _rest(texts.get(f"{prefix}rest", "")))

    def _with_environment(self, index: int, texts: Mapping[str, str], chosen: Choice) -> ItemForm:
        """The item with another environment: problems and sampling as they were, parameters and budgets as that has
        them."""
        prefix = f"items.{index}."
        environment = {name: value for name, value in chosen.config.items() if name not in ("tag", "groups")}
        name = texts.get(f"{prefix}name", "").strip()
        if name in ("", *(one.name for one in [*self.saved, *self.kinds])):  # nobody has given it one of its own
            name = chosen.name
        fresh = self._item_of(index, ItemDraft.model_validate({"name": name, "environment": environment}))
        own = {one: text for one, text in texts.items() if not one.startswith(f"{prefix}environment.")}
        own[f"{prefix}name"] = name
        kept = posted([node for group in fresh.nodes.values() for node in group], own)
        inside = {one: text for one, text in fresh.values.items() if one.startswith(f"{prefix}environment.")}
        self.unseen[f"{prefix}environment"] = "These are its parameters and budgets. Check them, then save."
        return self._filled(index, chosen.value, str(chosen.config["kind"]), {**kept, **inside}, fresh.rest)

    def _filled(self, index: int, choice: str, kind: str, values: dict[str, str], rest: dict[str, Any]) -> ItemForm:
        item = ItemForm(index=index, choice=choice, nodes=item_nodes(f"items.{index}.", kind), values=values, rest=rest)
        item.listed = frozenset(one.value for one in self.kinds)
        fill(item.all_nodes(), values, values, {})
        return item

    def _item_data(self, item: ItemForm) -> dict[str, Any]:
        parsed, wrong = parse(item.all_nodes(), item.values)
        self.unread |= wrong
        inner: dict[str, Any] = parsed["items"][str(item.index)]
        chosen = {one.value: one for one in [*self.saved, *self.kinds]}.get(item.choice)
        kind = chosen.config["kind"] if chosen else item.choice
        try:
            seeds = seeds_of(str(inner.pop("seeds", "")))
        except ValueError as error:
            seeds = []
            self.unread[f"{item.prefix}seeds"] = str(error)
        if seeds:
            inner |= {"seeds": seeds}
            for name in PROBLEMS:
                inner.pop(name, None)
        return {**inner, "environment": {**item.rest, **inner["environment"], "kind": kind}}

    def _choice_of(self, config: EnvironmentConfig) -> str:
        """The environment of the site that it is, or its kind."""
        own = _comparable(config.model_dump(mode="json"))
        for one in self.saved:
            if one.config["kind"] == config.kind and _comparable(one.config) == own:
                return one.value
        return config.kind


def _head() -> list[Node]:
    nodes = fields_of(SuiteDraft, only=HEAD)
    for one in all_fields(nodes):
        one.kind = "text" if one.name != "description" else "long"
    return nodes


def _texts(item: ItemForm) -> dict[str, str]:
    own = {"choice": item.choice, "shown": item.choice, "rest": item.rest_text}
    return {**item.values, **{f"{item.prefix}{name}": text for name, text in own.items()}}


def _moved(texts: Mapping[str, str], before: int, after: int) -> dict[str, str]:
    """The texts of one item, under another index."""
    old, new = f"items.{before}.", f"items.{after}."
    return {new + name.removeprefix(old): str(text) for name, text in texts.items() if name.startswith(old)}


def _rest(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return {name: value for name, value in found.items() if name not in SHOWN} if isinstance(found, dict) else {}


def _comparable(config: Mapping[str, Any]) -> dict[str, Any]:
    plain = EnvironmentConfig.model_validate({**config, "tag": "", "groups": 0}).model_dump(mode="json")
    plain["parameters"] = environment_class(plain["kind"]).Config(**plain["parameters"]).model_dump(mode="json")
    return plain


def _kind_exists(kind: str) -> bool:
    """A package may have been removed since an environment was saved."""
    try:
        environment_class(kind)
    except ConfigError:
        return False
    return True


def _kinds_for(user: User | AnonymousUser | None) -> list[str]:
    may_all = is_administrator(user)
    there = [kind for kind in environment_kinds() if _kind_exists(kind)]
    kinds = [kind for kind in there if may_all or not why_restricted(environment_class(kind), kind)]
    return sorted(kinds, key=lambda kind: environment_class(kind).title.lower())


def _user(user: User | AnonymousUser | None) -> User | None:
    return user if isinstance(user, User) else None
