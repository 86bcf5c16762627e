"""Errors that a user can act on. Each message says what was given, what is allowed and what to do."""

from __future__ import annotations


class StarboardError(Exception):
    """Base of every error that a user is told in its own words; `remedy` is one imperative sentence."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class ConfigError(StarboardError):
    """A run configuration that cannot be used."""


class ModelError(StarboardError):
    """A model directory or id that is missing or not a causal language model."""


class EnvironmentFault(StarboardError):
    """An environment that raised or broke its contract during an episode."""


class RunDirectoryError(StarboardError):
    """A run directory that is locked, damaged or not a run directory."""


class CheckpointError(StarboardError):
    """A checkpoint that is missing, incomplete or from another configuration."""


class RetryableFault(StarboardError):
    """What broke under the run, such as a dead actor, a lost node or a phase that hangs, and not by the user's doing.

    A fresh start from the newest checkpoint may go well, so the run's supervisor tries one.
    """


class EndpointError(StarboardError):
    """A chat endpoint that cannot be reached, refuses the key or the model, or is none."""
