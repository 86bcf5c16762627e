"""What a launch says of its runs beside their configuration: project, tags, and priority in the queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from webapp.live.reading import can_be_a_name
from webapp.projects.models import LONGEST_NAME as LONGEST_PROJECT
from webapp.runs.labels import LONGEST_TAG, MOST_TAGS
from webapp.runs.models import Run
from webapp.runs.priorities import priority_number


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """As they are in the form; `tags` are between commas."""

    project: str = ""
    tags: str = ""
    priority: str = "normal"

    @classmethod
    def given(cls, data: Mapping[str, str], source: Run | None) -> Self:
        """Those that were sent; a clone or fork begins with the project and the tags of its source."""
        tags = ", ".join(tag.name for tag in source.tags.all()) if source else ""
        return cls(
            project=data.get("project", source.project.name if source else "").strip(),
            tags=data.get("tags", tags).strip(),
            priority=data.get("priority", "") or "normal",
        )

    @property
    def any(self) -> bool:
        return bool(self.project or self.tags) or self.priority != "normal"

    def errors(self) -> dict[str, str]:
        found = {}
        if len(self.project) > LONGEST_PROJECT:
            found["project"] = f"must have at most {LONGEST_PROJECT} characters, got {len(self.project)}"
        elif not can_be_a_name(self.project):
            found["project"] = "has characters that cannot be stored. Leave them out."
        if why := _wrong_tags(self.tags):
            found["tags"] = why
        try:
            priority_number(self.priority)
        except ValueError as error:
            found["priority"] = str(error)
        return found


def _wrong_tags(text: str) -> str:
    tags = {tag.strip().removeprefix("#").strip() for tag in text.split(",")} - {""}
    if not can_be_a_name(text):
        return "has characters that cannot be stored. Leave them out."
    if (longest := max(map(len, tags), default=0)) > LONGEST_TAG:
        return f"One of them has {longest} characters. Tags have at most {LONGEST_TAG}; separate them by commas."
    if len(tags) > MOST_TAGS:
        return f"{len(tags)} tags are too many. Give at most {MOST_TAGS}."
    return ""
