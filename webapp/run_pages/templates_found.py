"""The reasoning templates that the engine found at each step, from the `templates` folder of the run directory.

The files contain text from a model and an environment, so they are untrusted: they are parsed with a schema, within
size limits, and no other file of the folder is read.
"""

from __future__ import annotations

import json
import logging
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from webapp.runs.models import Run

log = logging.getLogger(__name__)

LARGEST_FILE = 4 * 1024 * 1024
NAMED_SHARE = "collapse/template_share"

Text = Annotated[str, Field(max_length=4000)]


class Prompt(BaseModel):
    environment: Text
    seed: int
    group: int
    turn: int
    state: Text


class Use(BaseModel):
    prompt: int
    count: int
    member: int


class Cluster(BaseModel):
    key: Annotated[str, Field(max_length=64)]
    text: Text
    count: int
    prompts: int
    wordings: int
    example: dict[str, int]
    used_on: list[Use] = []


class StepTemplates(BaseModel):
    """The file of one step."""

    step: int
    thoughts: int
    prompts: list[Prompt] = []
    templates: list[Cluster]


def templates_of(run: Run, step: int) -> StepTemplates | None:
    """The templates of a step; None if there is no such file or it cannot be read."""
    path = run.directory / "templates" / f"step_{step}.json"
    if path.resolve() != run.directory.resolve() / "templates" / path.name:
        return None  # a link, which code in an environment can create in the run's directory
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError:
        return None
    if len(data) > LARGEST_FILE:
        log.warning("Run %s: %s is larger than %d bytes and is not read", run.pk, path.name, LARGEST_FILE)
        return None
    try:
        text = json.dumps(json.loads(data), ensure_ascii=False).encode(errors="replace")  # lone surrogates
        return StepTemplates.model_validate_json(text)
    except (ValueError, ValidationError, RecursionError) as error:
        log.warning("Run %s: %s cannot be read: %s", run.pk, path.name, error)
        return None


def counts_of(run: Run, steps: list[int]) -> list[dict[str, Any]]:
    """How often each template was used, for each of `steps` that has templates; without texts."""
    known = run.steps.filter(step__in=steps, metrics__has_key=NAMED_SHARE).order_by("step")
    found = [templates_of(run, step) for step in known.values_list("step", flat=True)]
    return [
        {
            "step": one.step,
            "thoughts": one.thoughts,
            "counts": {cluster.key: [cluster.count, cluster.prompts] for cluster in one.templates},
        }
        for one in found
        if one is not None
    ]


def detail_of(run: Run, step: int) -> dict[str, Any] | None:
    """The templates of a step with their texts, prompts and recorded trajectories."""
    found = templates_of(run, step) if run.steps.filter(step=step, metrics__has_key=NAMED_SHARE).exists() else None
    if found is None:
        return None
    recorded = {
        f"{group}-{member}": key
        for key, group, member in run.trajectories.filter(step=step, split="train").values_list("pk", "group", "member")
    }
    return {**found.model_dump(), "trajectories": recorded}
