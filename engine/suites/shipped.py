"""The suites that ship: a TOML file each in `definitions`, and in `problems.json` the problems that were found for it.

`python -m engine.suites.shipped` writes that file again, after a definition was added or changed.
"""

from __future__ import annotations

import json
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from engine.config import problems_by_field
from engine.errors import ConfigError
from engine.suites.resolve import ItemDraft, Problems, SuiteDraft, problems_of, resolve
from engine.suites.suite import Suite

FOLDER = Path(__file__).parent / "definitions"
PROBLEMS = Path(__file__).parent / "problems.json"
Found = dict[str, dict[str, Any]]  # by key of the item


@cache
def shipped_suites() -> dict[str, Suite]:
    """By name, in the order in which pages list them."""
    found: Found = json.loads(PROBLEMS.read_text())
    suites = [resolve(read_draft(path), find=lambda item: _known(found, item)) for path in definitions()]
    return {suite.name: suite for suite in suites}


def shipped_suite(name: str) -> Suite:
    suites = shipped_suites()
    if name not in suites:
        raise ConfigError(f"There is no suite {name!r}.", remedy=f"Choose one of: {', '.join(suites)}; or give a file.")
    return suites[name]


def definition_text(name: str) -> str:
    return (FOLDER / f"{name}.toml").read_text(encoding="utf-8")


def definitions() -> list[Path]:
    return sorted(FOLDER.glob("*.toml"), key=lambda path: (path.stem == "overall", path.stem))


def read_draft(path: Path) -> SuiteDraft:
    """A TOML file; `ConfigError` with every field that is wrong."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as TOML: {error}", remedy="Correct the file.") from None
    try:
        return SuiteDraft.model_validate({"name": path.stem, **data})
    except ValidationError as error:
        wrong = "; ".join(f"{field}: {reason}" for field, reason in problems_by_field(error, SuiteDraft))
        raise ConfigError(f"{path} is not a suite: {wrong}", remedy="Correct these fields.") from None


def item_key(item: ItemDraft) -> str:
    """What decides the problems of an item but for how many: the list has those of the item with most."""
    environment = {"kind": item.environment.kind, "parameters": item.environment.parameters}
    wrappers = [layer.model_dump(mode="json") for layer in item.environment.wrappers]
    drawn = {"first_seed": item.first_seed, "seeds": item.seeds}
    return json.dumps({**environment, "wrappers": wrappers, **drawn}, sort_keys=True)


def _known(found: Found, item: ItemDraft) -> Problems:
    key = item_key(item)
    if key not in found:
        raise ConfigError(f"No problems of {item.name!r} are recorded.", remedy="Run python -m engine.suites.shipped.")
    count = len(item.seeds) or item.count
    return Problems(seeds=found[key]["seeds"][:count], identities=found[key]["problems"][:count], training=[])


def write_problems() -> None:
    found: Found = {}
    items = [item for path in definitions() for item in read_draft(path).items]
    for item in sorted(items, key=lambda item: -item.count):
        key = item_key(item)
        if key not in found:
            problems = problems_of(item)
            found[key] = {"seeds": problems.seeds, "problems": problems.identities}
            sys.stderr.write(f"{item.name}: {len(problems.seeds)} problems\n")
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(found.items()))
    PROBLEMS.write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    write_problems()
