"""A run as a file."""

from __future__ import annotations

from typing import Annotated, Literal

from django.http.response import HttpResponseBase
from pydantic import Field

from webapp.api.endpoints import Call, Fields, Media, Resource
from webapp.exports.formats import BINARY, FORMATS
from webapp.runs.models import Run
from webapp.streamed import streamed

resource = Resource(tag="Exports")

OTHERS = tuple(sorted({one.media for one in FORMATS.values()} - {BINARY}))
ABOUT = "The file; its name is in Content-Disposition."

FormatName = Literal["csv", "parquet", "trajectories", "tensorboard", "mlflow", "wandb", "jsonl"]


class ExportQuery(Fields):
    format: FormatName = Field(
        default="csv",
        description="; ".join(f"`{key}`: {one.title}, {one.use}" for key, one in FORMATS.items()) + ".",
    )


@resource.get("runs/{run_id}/export")
def export_run(
    call: Call, run: Run, query: ExportQuery
) -> Annotated[HttpResponseBase, Media(type=BINARY, others=OTHERS, description=ABOUT)]:
    """Download a run in a format of another tool.

    Metrics include those of held-out evaluations. A file that is made while it is sent has no length.
    """
    chosen = FORMATS[query.format]
    return streamed(call.request, chosen.chunks(run), name=chosen.name(run), content_type=chosen.media)
