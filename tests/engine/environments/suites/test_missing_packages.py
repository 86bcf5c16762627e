"""Without their packages, the adapters say what to install; whatever else is in the registry works."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module

import pytest

from engine.environments import environment_class, make_environment
from engine.environments.suites.installed import imported
from engine.errors import ConfigError

PACKAGES = {"reasoning_gym": "reasoning_gym", "textarena": "textarena", "verifiers": "verifiers.v1"}
EXTRAS = {"reasoning_gym": "reasoning-gym", "textarena": "textarena", "verifiers": "verifiers"}


@pytest.mark.parametrize("kind", PACKAGES)
def test_a_missing_package_is_named_with_its_extra(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, PACKAGES[kind], None)  # as if it were not installed
    monkeypatch.setattr(import_module(f"engine.environments.suites.{kind}"), "imported", imported.__wrapped__)
    parameters = {"dataset": "gcd", "items": 7} if kind == "reasoning_gym" else {}
    with pytest.raises(ConfigError, match=rf"The package {kind} cannot be imported") as raised:
        make_environment(kind, **parameters)
    assert f"pip install 'starboard[{EXTRAS[kind]}]'" in raised.value.remedy
    assert f"the extra {EXTRAS[kind]}" in environment_class(kind).needs


def test_naming_a_task_set_is_for_administrators_as_its_code_runs() -> None:
    assert "its code runs" in environment_class("verifiers").restricted
    assert not environment_class("textarena").restricted


LIGHT = """
import json, sys
from engine.environments import ENVIRONMENTS, environment_class
for kind in ENVIRONMENTS:
    environment_class(kind).Config.model_json_schema()
print(json.dumps(sorted({"reasoning_gym", "textarena", "verifiers"} & set(sys.modules))))
"""


def test_the_registry_loads_none_of_them() -> None:
    loaded = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True).stdout
    assert json.loads(loaded) == []
