"""Project, tags and notes of a run, as clients send them."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from webapp.live.reading import can_be_a_name
from webapp.projects.models import LONGEST_NAME
from webapp.runs.labels import LONGEST_NOTES, LONGEST_TAG, MOST_TAGS


def _storable(text: str) -> str:
    if not can_be_a_name(text):
        raise ValueError("The text has a NUL character or half of a surrogate pair. Remove it.")
    return text


def _tags(tags: list[str]) -> list[str]:
    found = [_storable(tag).strip() for tag in tags]
    if not all(0 < len(tag) <= LONGEST_TAG and "," not in tag for tag in found):
        raise ValueError(f"Send tags of 1 to {LONGEST_TAG} characters, without commas.")
    return found


Text = Annotated[str, AfterValidator(_storable)]
Project = Annotated[
    Text,
    Field(
        max_length=LONGEST_NAME,
        description="The name or slug of the project; a name that matches none of yours creates one. Empty for your "
        "usual one.",
    ),
]
Notes = Annotated[Text, Field(max_length=LONGEST_NOTES, description="Shown on the run's page.")]
Tags = Annotated[
    list[str],
    AfterValidator(_tags),
    Field(max_length=MOST_TAGS, description=f"At most {MOST_TAGS}, of 1 to {LONGEST_TAG} characters without commas."),
]
