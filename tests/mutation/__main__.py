"""`python -m tests.mutation FOLDER`: a sample of mutants, each against the tests of the engine that the folder has.

The tests run on a copy of the repository, so the checkout stays as it is. The score is the share of mutants that some
test fails for, with its 95% Wilson interval: a sample says no more. A mutant on which the tests hang counts as killed.
Tests that import the changed module run first, so that most mutants are decided by a few of them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from engine.statistics.proportions import wilson
from tests.mutation.mutants import Mutant, mutants_of

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("engine", "tests", "benchmarks", "webapp", "workers", "client")
FILES = ("pyproject.toml", "manage.py")
NO_TESTS = 5  # pytest's exit status when all that it was given are slow


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("folder", type=Path, help="such as engine/algorithms")
    parser.add_argument("--sample", type=int, default=30, help="mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--tests", nargs="*", help="test folders (default: tests/ with the folder's own path)")
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds of one mutant's tests")
    options = parser.parse_args(arguments)
    tests = options.tests or [f"tests/{options.folder}"]
    with tempfile.TemporaryDirectory() as scratch:
        copy = copied(ROOT, Path(scratch) / "repository")
        if not passes(copy, tests, seconds=options.timeout):
            raise SystemExit(f"The tests in {', '.join(tests)} fail without a mutant. Repair them first.")
        drawn = draw(copy / options.folder, options.sample, seed=options.seed)
        survivors = [where for where, mutant in drawn if survives(copy, where, mutant, tests, options.timeout)]
    report(options.folder, len(drawn), len(survivors))
    return 0


def copied(root: Path, target: Path) -> Path:
    target.mkdir(parents=True)
    for name in COPIED:
        if (root / name).is_dir():
            shutil.copytree(root / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        if (root / name).is_file():
            shutil.copy(root / name, target / name)
    return target


def draw(folder: Path, count: int, *, seed: int) -> list[tuple[Path, Mutant]]:
    """Of all mutants of the folder's modules."""
    every = [
        (path, mutant)
        for path in sorted(folder.rglob("*.py"))
        for mutant in mutants_of(path.read_text(encoding="utf-8"))
    ]
    return random.Random(seed).sample(every, min(count, len(every)))


def survives(copy: Path, path: Path, mutant: Mutant, tests: list[str], seconds: float) -> bool:
    """Whether the tests pass with the mutant in place; a line is printed for each."""
    before = path.read_text(encoding="utf-8")
    near = nearest(copy, path, tests)
    path.write_text(mutant.source, encoding="utf-8")
    try:
        alive = (not near or passes(copy, near, seconds=seconds)) and passes(copy, tests, seconds=seconds)
    finally:
        path.write_text(before, encoding="utf-8")
    where = f"{path.relative_to(copy)}:{mutant.line}"
    sys.stdout.write(f"{'SURVIVED' if alive else 'killed  '} {where}: {mutant.was} -> {mutant.now}\n"[:300])
    sys.stdout.flush()
    return alive


def nearest(copy: Path, path: Path, tests: list[str]) -> list[str]:
    """The test files that name the module in an import."""
    module = ".".join(path.relative_to(copy).with_suffix("").parts)
    parent, _, name = module.rpartition(".")
    named = re.compile(rf"(from|import) {re.escape(module)}\b|from {re.escape(parent)} import .*\b{re.escape(name)}\b")
    files = [file for folder in tests for file in sorted((copy / folder).rglob("test_*.py"))]
    return [str(file.relative_to(copy)) for file in files if named.search(file.read_text(encoding="utf-8"))]


def passes(copy: Path, tests: list[str], *, seconds: float) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", *tests]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("DJANGO_", "PYTEST_"))}
    variables = {**inherited, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, cwd=copy, env=variables, capture_output=True, check=False, timeout=seconds, text=True
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode in (0, NO_TESTS)


def report(folder: Path, count: int, survived: int) -> None:
    killed = count - survived
    low, high = wilson(killed, count) if count else (0.0, 1.0)
    result = {"folder": str(folder), "mutants": count, "killed": killed, "low": round(low, 3), "high": round(high, 3)}
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    sys.exit(main())
