"""The outcomes of an evaluation as a file to download."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from engine.suites.outcomes import OUTCOMES
from webapp.streamed import streamed
from webapp.suites.models import SuiteEvaluation

PARQUET = "application/vnd.apache.parquet"
AT_ONCE = 1 << 20  # bytes


def outcomes_file(request: HttpRequest, evaluation: SuiteEvaluation) -> HttpResponseBase | None:
    """As Parquet; None before the first session of the evaluation has ended."""
    path = evaluation.folder / OUTCOMES
    if path.is_symlink() or not path.is_file():
        return None
    name, size = f"evaluation-{evaluation.pk}.parquet", path.stat().st_size
    return streamed(request, _parts(path), name=name, content_type=PARQUET, size=size)


def _parts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while part := file.read(AT_ONCE):
            yield part
