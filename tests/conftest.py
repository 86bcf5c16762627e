"""How the suite is split: browser tests count as slow; which tests stay together when several processes run them."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

TESTS = Path(__file__).parent
# each starts Ray, vLLM or both, which would starve a second of its kind
ALONE = ("tests/engine/cluster/", "tests/engine/policies/test_vllm.py", "tests/benchmarks/")


def is_alone(nodeid: str) -> bool:
    return nodeid.startswith(ALONE)


class FilesTogether(LoadFileScheduling):
    """A file's tests run in one process, in order; those that want the machine for themselves all run in the same."""

    def _split_scope(self, nodeid: str) -> str:
        return "alone" if is_alone(nodeid) else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FilesTogether:
    return FilesTogether(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not is_alone(item.nodeid))  # the longest first, while another process does the rest
    for item in items:
        if item.path.is_relative_to(TESTS / "e2e"):
            item.add_marker(pytest.mark.slow)
