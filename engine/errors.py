"""Errors that a user can act on. Each message states what was given, what is allowed and what to do."""

from __future__ import annotations


class StarboardError(Exception):
    """Base of all errors whose message is shown to users; `remedy` is one imperative sentence."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class ConfigError(StarboardError):
    """An invalid run configuration."""


class ModelError(StarboardError):
    """A model that is missing, cannot be loaded, or is not a causal language model."""


class EnvironmentFault(StarboardError):
    """An environment that raised, exceeded a limit or broke its contract during an episode.

    `kind` says what happened in a few words without the episode's own details, so that faults can be counted.
    """

    def __init__(self, message: str, *, remedy: str = "", kind: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.kind = kind


class EnvironmentUnavailable(EnvironmentFault):
    """A server or tool that an environment needs and cannot reach. It stops the run: nothing of it is the model's
    doing."""


class RunDirectoryError(StarboardError):
    """A run directory that is locked, damaged or invalid."""


class CheckpointError(StarboardError):
    """A checkpoint that is missing, incomplete or from another configuration."""


class NoGoodCheckpoint(CheckpointError):
    """A run that has recorded steps and has no good checkpoint left, so that it cannot continue by itself."""


class RetryableFault(StarboardError):
    """A failure of the infrastructure, such as a dead actor, a lost node or a phase that hangs.

    A restart from the latest checkpoint may succeed, so the run's supervisor tries one.
    """


class EndpointError(StarboardError):
    """A chat endpoint that cannot be reached, rejects the key or the model, or is not a chat endpoint."""
