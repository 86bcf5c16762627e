"""The tool that breaks code on purpose: what it changes, and which changes it says that tests notice."""

from __future__ import annotations

from pathlib import Path

from tests.mutation.__main__ import draw, nearest, passes, survives
from tests.mutation.mutants import mutants_of

SOURCE = '''
def larger(one: int = 2, other: int = 3) -> int:
    """3 is larger."""
    if one > other and other != 0:
        return one
    return other + 1
'''


def test_each_mutant_changes_one_operator_comparison_condition_or_constant() -> None:
    changes = {f"{mutant.was} -> {mutant.now}" for mutant in mutants_of(SOURCE)}
    assert {
        "one > other -> one >= other",
        "other != 0 -> other == 0",
        "other + 1 -> other - 1",
        "one > other and other != 0 -> one > other or other != 0",
        "2 -> 3",
        "3 -> 4",
        "0 -> 1",
        "1 -> 2",
    } < changes
    assert len(changes) == 9  # and the condition turned around; not the annotations, not the docstring
    for mutant in mutants_of(SOURCE):
        compile(mutant.source, "mutant", "exec")


def test_a_mutant_that_a_test_notices_is_killed_and_another_survives(tmp_path: Path) -> None:
    """The test adds 2 and 2, so it cannot tell a sum from a product; it can tell it from a difference."""
    (tmp_path / "sums.py").write_text("def total(one, other):\n    return one + other\n")
    (tmp_path / "twice.py").write_text("def twice(one):\n    return one * 2\n")
    (tmp_path / "test_sums.py").write_text(
        "from sums import total\nfrom twice import twice\n\n\ndef test_sum():\n    assert total(2, 2) == 4\n"
        "    assert twice(0) == 0\n"
    )
    assert passes(tmp_path, ["test_sums.py"], seconds=60)
    found = {
        f"{path.name}: {mutant.now}": survives(tmp_path, path, mutant, ["test_sums.py"], 60)
        for path, mutant in draw(tmp_path, 99, seed=1)
        if not path.name.startswith("test_")
    }
    assert found == {"sums.py: one - other": False, "twice.py: one / 2": True, "twice.py: 3": True}
    assert (tmp_path / "sums.py").read_text().endswith("one + other\n")


def test_tests_that_import_the_changed_module_run_first(tmp_path: Path) -> None:
    for name, text in {
        "test_sums.py": "from code.sums import total",
        "test_names.py": "from code import names, sums",
        "test_others.py": "from code.sums_of_others import total",
    }.items():
        (tmp_path / "tests").mkdir(exist_ok=True)
        (tmp_path / "tests" / name).write_text(text)
    assert nearest(tmp_path, tmp_path / "code/sums.py", ["tests"]) == ["tests/test_names.py", "tests/test_sums.py"]
