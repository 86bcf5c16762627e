"""Answers of the site about imports of rollouts."""

from __future__ import annotations

from pydantic import Field

from starboard_client.models import Answer

LIVE = frozenset({"queued", "running"})


class RejectedRollout(Answer):
    file: str
    line: int
    reason: str


class Import(Answer):
    """`run` is the ID of the run, once the import has finished."""

    id: int
    state: str
    message: str = ""
    name: str
    files: list[str]
    lines: int
    read: int
    accepted: int
    rejected: int
    written: int
    run: str | None = None
    seconds: float = 0.0
    rejected_lines: list[RejectedRollout] = Field(default_factory=list)

    @property
    def ended(self) -> bool:
        return self.state not in LIVE


class ImportPage(Answer):
    imports: list[Import]
    next: str | None = None
