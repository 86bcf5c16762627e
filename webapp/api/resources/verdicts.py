"""What Starboard says about a run: its verdict, and the regime of each diagnosed step."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from engine.verdict.types import RegimeBorders, Verdict
from webapp.api.endpoints import Call, Fields, Resource
from webapp.api.problems import Problem
from webapp.runs.models import Run
from webapp.runs.verdicts import regimes_of

resource = Resource(tag="Verdicts")


class RegimeQuery(Fields):
    per: Literal["thought", "token"] = Field(default="thought", description="The unit of H(Z|X).")


class RegimeAnswer(BaseModel):
    borders: RegimeBorders | None = Field(description="Where the regimes end; null before they are known.")
    steps: list[int]
    regimes: list[str]
    format_broken: list[bool]
    explanation: str


@resource.get("runs/{run_id}/verdict", problems={404: "The run has no verdict yet."})
def get_verdict(call: Call, run: Run) -> Annotated[dict[str, Any], Verdict]:
    """Retrieve the verdict on a run with its evidence, as `python -m engine assess --json` prints it."""
    if not run.verdict:
        raise Problem(404, "The run has no verdict yet", "Wait for its first step.")
    found: dict[str, Any] = run.verdict
    return found


@resource.get("runs/{run_id}/regimes")
def get_regimes(call: Call, run: Run, query: RegimeQuery) -> Annotated[dict[str, Any], RegimeAnswer]:
    """Retrieve the regime of each diagnosed step."""
    found = regimes_of(run, query.per)
    borders = found.borders.model_dump() if found.borders is not None else None
    return {**found._asdict(), "borders": borders}
