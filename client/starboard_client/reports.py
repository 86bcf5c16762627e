"""The calls about reports and groups of runs, a part of `Starboard`."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import Literal

from starboard_client.models import Answer
from starboard_client.transport import Transport

REPORTS_AT_ONCE = 200

Band = Literal["ci", "se", "std", "minmax"]
Column = list[float | None]


class ReportSummary(Answer):
    id: int
    title: str
    owner: str | None
    version: int
    updated_at: str
    shared: bool


class Report(ReportSummary):
    """`link` is there for its owner while it is shared."""

    text: str
    link: str | None


class MetricBand(Answer):
    """Of each range of steps; `low` and `high` are empty where a range is one step."""

    mean: Column
    low: Column
    high: Column


class MetricBands(Answer):
    """Columns of equal length, each entry the last step of its range. `thinned`: ranges have more than one step."""

    steps: list[int]
    tokens: list[int]
    seconds: list[float]
    times: list[float]
    thinned: bool
    series: dict[str, MetricBand]


class GroupCurve(Answer):
    """Columns of equal length; `low` and `high` are None where too few runs have a value."""

    steps: list[int]
    mean: Column
    low: Column
    high: Column
    count: list[int]


class ReportCalls:
    _http: Transport

    def reports(self) -> Iterator[ReportSummary]:
        """The newest first, page by page."""
        before, more = None, True
        while more:
            page = self._http.get("reports/", limit=REPORTS_AT_ONCE, before=before)
            found = [ReportSummary.model_validate(one) for one in page["reports"]]
            yield from found
            before, more = (found[-1].id if found else None), page["more"]

    def report(self, report_id: int) -> Report:
        return Report.model_validate(self._http.get(f"reports/{report_id}/"))

    def create_report(self, title: str, text: str = "", *, key: str | None = None) -> Report:
        """`text` is Markdown; fenced code with `chart` and the address of a comparison is a chart."""
        body = {"title": title, "text": text}
        return Report.model_validate(self._http.post("reports/", body, key=key or str(uuid.uuid4())))

    def change_report(self, report: Report, *, title: str | None = None, text: str | None = None) -> Report:
        """`Conflict` if somebody has changed it since `report` was read."""
        body = {
            "title": report.title if title is None else title,
            "text": report.text if text is None else text,
            "version": report.version,
        }
        return Report.model_validate(self._http.post(f"reports/{report.id}/", body))

    def share_report(self, report_id: int, *, shared: bool = True) -> Report:
        """With a secret `link`, or without any, which ends the one that there was."""
        return Report.model_validate(self._http.post(f"reports/{report_id}/share", {"shared": shared}))

    def delete_report(self, report_id: int) -> None:
        """A report of your own, with its link; what it shows stays."""
        self._http.post(f"reports/{report_id}/delete", {})

    def group_curves(
        self, groups: Sequence[Sequence[str]], metrics: Sequence[str], *, band: Band = "ci"
    ) -> list[dict[str, GroupCurve]]:
        """For each group of run IDs the mean of each metric by step, with a band."""
        named = ";".join(",".join(group) for group in groups)
        answer = self._http.get("group-curves", groups=named, metrics=",".join(metrics), band=band)
        return [{name: GroupCurve.model_validate(one) for name, one in group.items()} for group in answer["groups"]]

    def curves(self, runs: Sequence[str], metrics: Sequence[str], *, buckets: int = 300) -> dict[str, MetricBands]:
        """Metrics of up to 50 runs in one request: the mean, minimum and maximum over ranges of steps, by run ID."""
        answer = self._http.get("bands", runs=",".join(runs), keys=",".join(metrics), buckets=buckets)
        return {run: MetricBands.model_validate(one) for run, one in answer["runs"].items()}
