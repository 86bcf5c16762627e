"""Project, tags and notes of a run, as a client sends them."""

from __future__ import annotations

from typing import Any

from webapp.live.reading import can_be_a_name
from webapp.runs.labels import LONGEST_NOTES, LONGEST_PROJECT, LONGEST_TAG, MOST_TAGS

EXAMPLE = '{"project": "sokoban", "tags": ["baseline"], "notes": "…"}'
LONGEST = {"project": LONGEST_PROJECT, "notes": LONGEST_NOTES}
FIELDS = ("project", "tags", "notes")


def errors_of(body: dict[str, Any]) -> dict[str, str]:
    """By field; empty if all of it can be stored as it is. Fields that are not sent stay as they are."""
    found = {name: f"There is no such field; send {', '.join(FIELDS)}." for name in body if name not in FIELDS}
    for name, longest in LONGEST.items():
        if name in body and not _is_text(body[name], longest):
            found[name] = f"Send text of at most {longest:,} characters."
    if "tags" in body and not _are_tags(body["tags"]):
        found["tags"] = f"Send at most {MOST_TAGS} tags of 1 to {LONGEST_TAG} characters, without commas."
    if not body:
        found[""] = f"Send a JSON object such as {EXAMPLE}."
    return {name[:60]: reason for name, reason in found.items()}


def _are_tags(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= MOST_TAGS
        and all(_is_text(one, LONGEST_TAG) and one.strip() and "," not in one for one in value)
    )


def _is_text(value: Any, longest: int) -> bool:
    return isinstance(value, str) and len(value) <= longest and can_be_a_name(value)
