"""What a sweep is for, in words: its question, notes, and the metrics whose curves tell most."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from engine.section import Section

MOST_NOTES = 20_000  # characters
MOST_CURVES = 12
CURVES = ("rollout/success", "policy/entropy", "collapse/mi_ratio")
Words = Annotated[str, StringConstraints(strip_whitespace=True)]
MetricName = Annotated[str, Field(min_length=1, max_length=120, pattern=r"^[\w./-]+$")]


class SweepText(Section):
    description: Words = Field("", max_length=500, description="The question that the sweep answers.")
    notes: Words = Field("", max_length=MOST_NOTES, description="What is compared, in Markdown, above the results.")
    curves: list[MetricName] = Field(
        default_factory=lambda: list(CURVES), max_length=MOST_CURVES, description="Metrics whose curves are drawn."
    )

    @property
    def text(self) -> dict[str, Any]:
        """These fields alone, of what has others as well."""
        return self.model_dump(include=set(SweepText.model_fields))
