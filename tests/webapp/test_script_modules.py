"""A page lists all imports of its script modules for preloading."""

from __future__ import annotations

from pathlib import Path
from posixpath import normpath

import pytest
from django.conf import settings
from django.test import Client

from webapp.script_modules import modules_of

SCRIPTS = Path(settings.BASE_DIR) / "static" / "js"


def imported_by(name: str) -> set[str]:
    """A plain scan of the statements that import or export from another file, which may span several lines."""
    lines = (SCRIPTS.parent / name).read_text().splitlines()
    code = "\n".join(line for line in lines if not line.startswith("//"))
    found = set()
    for statement in code.split(";"):
        if statement.lstrip().startswith(("import", "export")) and ' from ".' in statement:
            found.add(normpath(f"{name}/../{statement.rsplit(chr(34), 2)[1]}"))
    return found


@pytest.mark.parametrize("name", ["core/frame.js", "reader/page.js", "compare/page.js"])
def test_every_import_of_a_module_is_listed_once(name: str) -> None:
    found = modules_of(f"js/{name}")
    assert found[0] == f"js/{name}" and len(found) == len(set(found))
    assert {imported for one in found for imported in imported_by(one)} == set(found[1:])


def test_modules_are_named_relative_to_the_static_folder() -> None:
    assert {"js/run/tabs/index.js", "js/charts/chart.js"} <= set(modules_of("js/run/page.js"))
    assert all((SCRIPTS.parent / one).is_file() for one in modules_of("js/run/page.js"))


def test_a_page_preloads_the_imports_before_its_module(client: Client) -> None:
    page = client.get("/accounts/login/").content.decode()
    links = [line for line in page.splitlines() if 'rel="modulepreload"' in line]
    assert len(links) == len(modules_of("js/core/frame.js")) - 1
    assert page.index(links[-1].strip()) < page.index('js/core/frame.js"></script>')
