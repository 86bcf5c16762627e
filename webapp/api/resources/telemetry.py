"""What a run reports: events, metrics as columns, what its page starts from, and its log."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema, model_validator

from webapp.api.endpoints import Call, Fields, Resource, like
from webapp.api.schemas import Column, Event
from webapp.live.bands import MetricBands, metric_bands
from webapp.live.outline import Outline, outline
from webapp.live.reading import MetricSeries, events_after, metric_series
from webapp.run_pages.log_tail import tail
from webapp.runs.models import Run

resource = Resource(tag="Telemetry")

MOST_KEYS = 100
LARGEST = 2**63 - 1


def _split(text: object) -> list[str]:
    """Without repetitions."""
    return list(dict.fromkeys(word for word in str(text).split(",") if word))


Keys = Annotated[list[str], BeforeValidator(_split), Field(max_length=MOST_KEYS), WithJsonSchema({"type": "string"})]
Number = Annotated[int, Field(ge=0, le=LARGEST)]


class Window(Fields):
    first: Number = Field(default=0, alias="from", description="The first step.")
    last: Number | None = Field(default=None, alias="to", description="The last step; by default the newest.")

    @model_validator(mode="after")
    def is_forward(self) -> Self:
        if self.last is not None and self.last < self.first:
            raise ValueError(f"from is {self.first} and to is {self.last}. Send the smaller step as from.")
        return self


class EventQuery(Fields):
    after: Number = Field(default=0, description="Only events with a greater `seq`.")
    limit: int = Field(default=500, ge=1, le=5000, description="The most events.")


class MetricQuery(Window):
    keys: Keys = Field(default_factory=list, description=f"Names of up to {MOST_KEYS} metrics, separated by commas.")
    points: int = Field(default=1000, ge=1, le=20_000, description="About how many steps.")


class BandQuery(Window):
    keys: Keys = Field(default_factory=list, description=f"Names of up to {MOST_KEYS} metrics, separated by commas.")
    having: Keys = Field(default_factory=list, description="Only steps with one of these metrics, separated by commas.")
    buckets: int = Field(default=600, ge=1, le=5000, description="The most ranges of steps.")


class LogQuery(Fields):
    after: Number | None = Field(default=None, description="Text after this offset; by default the end of the log.")
    before: Number | None = Field(default=None, description="Text before this offset.")


class EventPage(BaseModel):
    events: list[Annotated[dict[str, Any], like(Event)]]
    last_seq: int = Field(description="The next `after`.")
    more: bool


class MetricColumns(BaseModel):
    """Columns of equal length, with an entry for each step; null where a step lacks the metric."""

    steps: list[int]
    tokens: list[int]
    seconds: list[float]
    times: list[float]
    series: dict[str, Column]
    last_seq: int


class BandColumns(BaseModel):
    mean: Column
    low: Column
    high: Column
    low_at: Column = Field(description="The step of the minimum.")
    high_at: Column = Field(description="The step of the maximum.")


class BandAnswer(BaseModel):
    """Columns of equal length, each entry the last step of its range."""

    steps: list[int]
    tokens: list[int]
    seconds: list[float]
    times: list[float]
    elapsed: list[float] = Field(description="Wall-clock seconds since the first start, without gaps between attempts.")
    attempts: list[int]
    thinned: bool = Field(description="Whether a range has more than one step.")
    spans: list[list[int]] = Field(description="All steps, as first step, last step and stride.")
    series: dict[str, BandColumns]
    last_seq: int


class OutlineAnswer(BaseModel):
    events: list[dict[str, Any]] = Field(description="Events; of steps only their times.")
    keys: list[str] = Field(description="Every metric that a step has had.")
    last_seq: int


class LogPiece(BaseModel):
    text: str = Field(description="At most 64 KiB, in whole lines. Broken characters are replaced.")
    start: int = Field(description="The offset where the text begins.")
    end: int = Field(description="The next `after`.")
    size: int = Field(description="Bytes of the whole log now.")


@resource.get("runs/{run_id}/events")
def list_events(call: Call, run: Run, query: EventQuery) -> Annotated[dict[str, Any], EventPage]:
    """List the events of a run in order, exactly as the engine wrote them.

    To page through them, send the `last_seq` of an answer as the next `after`.
    """
    found = events_after(run, query.after, query.limit + 1)
    shown = found[: query.limit]
    last = shown[-1]["seq"] if shown else query.after
    return {"events": shown, "last_seq": last, "more": len(found) > query.limit}


@resource.get("runs/{run_id}/metrics")
def get_metrics(call: Call, run: Run, query: MetricQuery) -> Annotated[MetricSeries, MetricColumns]:
    """Retrieve metrics as columns aligned with `steps`, downsampled to about `points` steps.

    Downsampling keeps the minimum and the maximum of each interval.
    """
    return metric_series(run, query.keys, query.points, first=query.first, last=query.last)


@resource.get("runs/{run_id}/bands")
def get_bands(call: Call, run: Run, query: BandQuery) -> Annotated[MetricBands, BandAnswer]:
    """Retrieve metrics over ranges of consecutive steps: mean, minimum and maximum, and the steps of the extremes."""
    return metric_bands(run, query.keys, query.buckets, first=query.first, last=query.last, having=query.having)


@resource.get("runs/{run_id}/outline")
def get_outline(call: Call, run: Run) -> Annotated[Outline, OutlineAnswer]:
    """Retrieve lifecycle events, the times of the newest steps, and the names of all metrics."""
    return outline(run)


@resource.get("runs/{run_id}/log")
def get_log(call: Call, run: Run, query: LogQuery) -> LogPiece:
    """Read the engine's log: its end, or what follows or precedes an offset.

    To follow the log, send the `end` of an answer as the next `after`.
    """
    path = run.directory / "engine.log"
    piece = tail(path, after=query.after, before=query.before)
    size = path.stat().st_size if path.is_file() and not path.is_symlink() else 0
    return LogPiece(text=piece.text, start=piece.start, end=piece.end, size=size)
