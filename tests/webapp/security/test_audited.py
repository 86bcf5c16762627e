"""Every route that changes something adds an entry to the audit log, or the table in `audited` says why it does not."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest
from django.test import Client

import tests.webapp
from tests.webapp.security.acts import Act
from tests.webapp.security.audited import AUDITED, NOT_AUDITED
from tests.webapp.security.roles import HTTP
from tests.webapp.security.routes import address
from tests.webapp.security.undone import undone
from tests.webapp.world import World
from webapp.audit.models import DONE, AuditEntry
from webapp.audit.services import DESCRIPTIONS, ITSELF

CHANGING = ("put", "patch", "delete")  # beside POST, which the table of roles has


def test_every_route_that_changes_something_is_audited_or_says_why_not(world: World, client: Client) -> None:
    client.force_login(world.user)
    changing = {route for route, row in HTTP.items() if row.post != 405}
    for route in HTTP.keys() - changing:
        with undone():
            answers = {method: getattr(client, method)(address(route, world)).status_code for method in CHANGING}
        if set(answers.values()) - {404, 405}:
            changing.add(route)
    table = "the tables are AUDITED and NOT_AUDITED in tests/webapp/security/audited.py"
    assert sorted(changing - AUDITED.keys() - NOT_AUDITED.keys()) == [], f"routes without a row; {table}"
    assert sorted((AUDITED.keys() | NOT_AUDITED.keys()) - changing) == [], f"rows without a route; {table}"
    assert AUDITED.keys() & NOT_AUDITED.keys() == set()


def test_a_successful_request_adds_one_entry_with_the_action_and_the_user(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On each route in the same world: what a request does to rows and files is undone before the next."""
    monkeypatch.setattr("webapp.evaluations.requests.why_no_worker", lambda: "")
    shutil.copytree(tmp_path / "runs", tmp_path / "before")
    wrong = {}
    for route, act in AUDITED.items():
        if not isinstance(act, Act):
            continue
        with undone():
            path = act.prepare(route, world)
            earlier = list(AuditEntry.objects.values_list("pk", flat=True))
            answer = act.send(route, path, world)
            added = AuditEntry.objects.exclude(pk__in=earlier).exclude(who=ITSELF)  # runs that a sweep launches
            found = list(added.values_list("action", "user", "outcome"))
            if found != [(act.action, world.user.pk, DONE)]:
                wrong[route] = (answer.status_code, found)
        shutil.rmtree(tmp_path / "runs")
        shutil.copytree(tmp_path / "before", tmp_path / "runs")
    assert wrong == {}


def test_every_action_of_the_table_has_a_description() -> None:
    assert {act.action for act in AUDITED.values() if isinstance(act, Act)} - DESCRIPTIONS.keys() == set()


@pytest.mark.parametrize("name", [name for name in AUDITED.values() if isinstance(name, str)])
def test_a_test_that_the_table_names_exists_and_reads_the_log(name: str) -> None:
    path, _, function = name.partition("::")
    source = (Path(tests.webapp.__file__).parent / path).read_text()
    found = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == function]
    assert len(found) == 1
    assert "entries_of(user)" in source
