"""The model that a KL penalty pulls to: where the run began."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from engine.policies.adapter import adapter_off
from engine.policies.loading import LanguageModel


class Reference(Protocol):
    def model(self) -> AbstractContextManager[LanguageModel]:
        """The model as it was, for as long as the context lasts."""


class FrozenCopy:
    """A second model in memory."""

    def __init__(self, start: LanguageModel) -> None:
        self.start = start.requires_grad_(False).eval()

    @contextmanager
    def model(self) -> Iterator[LanguageModel]:
        yield self.start


class AdapterOff:
    """The policy without its adapter, which takes no memory."""

    def __init__(self, policy: LanguageModel) -> None:
        self.policy = policy

    @contextmanager
    def model(self) -> Iterator[LanguageModel]:
        with adapter_off(self.policy):
            yield self.policy
