"""Compiled scores need a compiler, here before launch and on the machine of every learner."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.cluster.checks import Machine, check_machine
from engine.compilers import missing_compiler
from engine.config import RunConfig, build_config
from engine.errors import ModelError
from engine.training.learner import Learner
from tests.engine.models import small_model

FIELD = "optimizer.compile_scores"
GPU = Machine(gpus=(80 * 2**30,), memory=2**40)
CPU = Machine(gpus=(), memory=2**40)


def local(*, compiled: bool = True) -> RunConfig:
    return build_config({"optimizer": {"compile_scores": compiled}})


def on_ray(*, compiled: bool = True) -> RunConfig:
    cluster = {"sampler": "torch", "learners": 1}
    return build_config({"backend": "ray", "cluster": cluster, "optimizer": {"compile_scores": compiled}})


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of the PATH, with no program in it."""
    for variable in ("CC", "CXX"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("config", [local, on_ray])
@pytest.mark.parametrize(("machine", "what", "compiler"), [(CPU, "C++", "g++"), (GPU, "C", "clang")])
def test_a_launch_without_a_compiler_is_refused(
    programs: Path, config: Callable[..., RunConfig], machine: Machine, what: str, compiler: str
) -> None:
    assert f"It needs a {what} compiler, " in check_machine(config(), machine).problems[FIELD]
    assert FIELD not in check_machine(config(compiled=False), machine).problems
    (programs / compiler).touch(mode=0o755)
    assert FIELD not in check_machine(config(), machine).problems


def test_the_compiler_may_be_named(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (programs / "icpx").touch(mode=0o755)
    assert missing_compiler("cpu") == "a C++ compiler, g++ or clang++ or the one that CXX names"
    monkeypatch.setenv("CXX", "icpx")
    assert missing_compiler("cpu") == ""


def test_a_learner_on_a_machine_without_one_names_that_machine(programs: Path) -> None:
    with pytest.raises(ModelError, match=rf"needs a C\+\+ compiler, .*, which {socket.gethostname()} lacks"):
        Learner(small_model(), local())
    (programs / "g++").touch(mode=0o755)
    Learner(small_model(), local())
