"""Vendored files and the node tools that check our scripts match their records."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VENDOR = ROOT / "static" / "vendor"
RECORDED = json.loads((VENDOR / "vendored.json").read_text())
LOCK = json.loads((ROOT / "package-lock.json").read_text())


def test_every_vendored_file_is_recorded_with_package_version_and_licence() -> None:
    files = {str(path.relative_to(VENDOR)) for path in VENDOR.rglob("*") if path.is_file()} - {"vendored.json"}
    assert files == set(RECORDED)
    assert all(set(one) == {"package", "version", "licence", "sha256"} for one in RECORDED.values())


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_a_vendored_file_has_the_recorded_checksum(name: str) -> None:
    assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == RECORDED[name]["sha256"]


def test_the_script_states_the_recorded_version() -> None:
    name = "plotly/plotly-basic.min.js"
    assert f"v{RECORDED[name]['version']}" in (VENDOR / name).read_text()[:200]


def test_the_lock_file_of_the_node_tools_has_checksums_and_no_index_address() -> None:
    packages = {name: one for name, one in LOCK["packages"].items() if name}
    assert all(one["integrity"].startswith("sha512-") for one in packages.values())
    assert not any("resolved" in one for one in packages.values())


def test_node_tools_are_pinned_to_exact_versions() -> None:
    tools = json.loads((ROOT / "package.json").read_text())["devDependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in tools.values())
    assert {name: LOCK["packages"][f"node_modules/{name}"]["version"] for name in tools} == tools
