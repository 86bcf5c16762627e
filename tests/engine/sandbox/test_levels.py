"""Which level of isolation is used, and what is said where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.errors import ConfigError
from engine.sandbox import LEVELS, CaseResult, Limits, Outcome, Program, available_levels, problem_with, sandbox
from engine.sandbox import levels as module
from engine.sandbox.programs import program_text

ROOT = Path(__file__).resolve().parents[3]
SYSTEM_PYTHON = Path("/usr/bin/python3")
NOBODY = 65534


def test_the_strongest_level_that_works_is_used() -> None:
    if not available_levels():
        pytest.skip("no level of isolation works on this machine")
    assert sandbox().name == available_levels()[0]
    assert sandbox(available_levels()[-1]).name == available_levels()[-1]


def test_levels_are_listed_from_the_strongest() -> None:
    assert list(LEVELS) == ["bubblewrap", "webassembly", "namespaces"]


def test_without_a_level_the_reasons_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "problem_with", lambda name: f"no {name}")
    with pytest.raises(
        ConfigError, match="bubblewrap: no bubblewrap; webassembly: no webassembly; namespaces: no name"
    ):
        sandbox()
    with pytest.raises(ConfigError, match=r"\(webassembly: no webassembly\). Install it with: pip install"):
        sandbox("webassembly")


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (CaseResult(outcome=Outcome.SANDBOX_FAILED, error="no namespaces"), "ended as sandbox_failed: no namespaces"),
        (CaseResult(outcome=Outcome.FINISHED, stdout="works True False True\n"), "not contained"),
        (CaseResult(outcome=Outcome.FINISHED, stdout="works True True True\n"), ""),
    ],
)
def test_a_level_is_used_only_if_its_trial_was_contained(
    monkeypatch: pytest.MonkeyPatch, result: CaseResult, reason: str
) -> None:
    class Tried(module.Namespaces):
        def run(self, *_: object) -> list[CaseResult]:
            return [result]

    monkeypatch.setitem(LEVELS, "tried", Tried())
    problem_with.cache_clear()
    found = problem_with("tried")
    problem_with.cache_clear()
    assert reason in found if reason else found == ""


def test_a_sandbox_that_cannot_start_is_no_outcome_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_interpreter", lambda: "/no/such/python")
    (result,) = LEVELS["namespaces"].run("print(1)", [Program()], Limits())
    assert result.outcome is Outcome.SANDBOX_FAILED
    assert "/no/such/python" in result.error


def test_the_program_inside_refuses_to_run_outside_of_a_process_namespace() -> None:
    text = program_text("inside", "serve")
    done = subprocess.run([sys.executable, "-I", "-c", text], input=b"{}", capture_output=True, check=False)
    assert done.returncode == 97


@pytest.mark.skipif(os.geteuid() != 0 or not SYSTEM_PYTHON.exists(), reason="it needs root and the system's Python")
@pytest.mark.parametrize("name", ["bubblewrap", "namespaces"])
def test_it_works_for_a_user_who_is_not_root(name: str) -> None:
    code = (
        f"import sys; sys.version_info >= (3, 11) or sys.exit('old'); sys.path.insert(0, {str(ROOT)!r})\n"
        f"from engine.sandbox import problem_with; print(problem_with({name!r}) or 'works')"
    )
    done = subprocess.run(
        [str(SYSTEM_PYTHON), "-B", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        cwd="/",
        env={"PATH": os.environ["PATH"]},
    )
    if done.returncode != 0 or problem_with(name):
        pytest.skip(f"not possible here: {done.stderr[-200:]} {problem_with(name)}")
    if "Operation not permitted" in done.stdout or "Permission denied" in done.stdout:
        pytest.skip(f"user namespaces are not allowed here: {done.stdout}")
    assert done.stdout == "works\n"
