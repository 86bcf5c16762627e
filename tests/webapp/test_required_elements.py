"""The elements that scripts require by their id are in a template, with the tag that the script names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
REQUIRED = re.compile(r'\bbyId\("([\w-]+)"(?:, HTML(\w+)Element)?\)')
WITH_ID = re.compile(r'<(\w+)\b[^<>]*?\bid="([^"]+)"')
TAGS = {"Anchor": "a", "TextArea": "textarea"}


def tags_by_id() -> dict[str, set[str]]:
    """An id that a template completes, as `view-{{ tab.key }}`, is known by its beginning and a star."""
    found: dict[str, set[str]] = {}
    for template in (ROOT / "templates").rglob("*.html"):
        for tag, name in WITH_ID.findall(template.read_text()):
            found.setdefault(re.sub(r"\{\{.*", "*", name), set()).add(tag)
    return found


SCRIPTS = (ROOT / "static/js").rglob("*.js")
MODULES = sorted(str(path.relative_to(ROOT)) for path in SCRIPTS if "byId(" in path.read_text())


@pytest.mark.parametrize("module", MODULES)
def test_a_template_has_what_a_script_requires(module: str) -> None:
    tags = tags_by_id()
    for name, element in REQUIRED.findall((ROOT / module).read_text()):
        known = tags.get(name) or tags.get(f"{name.split('-')[0]}-*")
        assert known, f"{module} requires #{name}, which no template has"
        tag = TAGS.get(element, element.lower())
        assert not tag or tag in known, f"{module} requires #{name} to be a {tag}; it is {known}"


def test_enough_modules_are_read() -> None:
    assert len(MODULES) > 20
