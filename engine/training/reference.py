"""The reference model of a KL penalty: the model that the run started with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from engine.policies.adapter import adapter_off
from engine.policies.loading import LanguageModel


class Reference(Protocol):
    def model(self) -> AbstractContextManager[LanguageModel]:
        """The reference model, within the context."""


class FrozenCopy:
    """A second model in memory."""

    def __init__(self, frozen: LanguageModel) -> None:
        self.frozen = frozen.requires_grad_(False).eval()

    @contextmanager
    def model(self) -> Iterator[LanguageModel]:
        yield self.frozen


class AdapterOff:
    """The policy without its adapter, which takes no memory."""

    def __init__(self, policy: LanguageModel) -> None:
        self.policy = policy

    @contextmanager
    def model(self) -> Iterator[LanguageModel]:
        with adapter_off(self.policy):
            yield self.policy
