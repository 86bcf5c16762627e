"""How the suite is split: browser tests count as slow; which tests stay together when several processes run them."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# each starts Ray, vLLM or both, which would starve a second of its kind
ALONE = (TESTS / "engine" / "cluster", TESTS / "engine" / "policies" / "test_vllm.py", TESTS / "benchmarks")


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the marks in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(TESTS / "e2e"):
            item.add_marker(pytest.mark.slow)
        together = "alone" if any(item.path.is_relative_to(place) for place in ALONE) else item.nodeid.split("::")[0]
        item.add_marker(pytest.mark.xdist_group(together))
