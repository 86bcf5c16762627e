"""The metrics that docs/deployment.md lists, and asks in its alert rules, are those that the code has."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]
DOC = (ROOT / "docs/deployment.md").read_text()
SUFFIXES = re.compile(r"_(total|bucket|count|sum)$")


def in_code() -> set[str]:
    files = (ROOT / "webapp/monitoring").glob("*.py")
    return {name for file in files for name in re.findall(r'"(starboard_\w+)"', file.read_text())}


def test_the_table_lists_all_metrics_and_no_others() -> None:
    listed = re.findall(r"^\| `(starboard_\w+)`", DOC, re.MULTILINE)
    assert {SUFFIXES.sub("", name) for name in listed} == in_code()


def test_the_examples_are_yaml_and_their_rules_ask_for_metrics_that_exist() -> None:
    blocks = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", DOC, re.DOTALL)]
    rules = [rule for block in blocks for group in block.get("groups", []) for rule in group["rules"]]
    assert len(rules) >= 5
    asked = {name for rule in rules for name in re.findall(r"starboard_\w+", rule["expr"])}
    assert {SUFFIXES.sub("", name) for name in asked} <= in_code()
