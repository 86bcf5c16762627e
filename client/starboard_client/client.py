"""The site's API with types: one method for each operation, and loops for what takes several."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Self

from starboard_client.credentials import credentials
from starboard_client.forks import ForkCalls
from starboard_client.imports import ImportCalls
from starboard_client.models import (
    Alert,
    Entry,
    Evaluation,
    EventPage,
    Launched,
    LogPiece,
    MetricColumns,
    Pair,
    Preset,
    Received,
    RecordProblem,
    Run,
    RunDetail,
    RunPage,
)
from starboard_client.reports import ReportCalls
from starboard_client.site import SiteCalls
from starboard_client.suites import SuiteCalls
from starboard_client.sweeps import SweepCalls
from starboard_client.trajectories import TrajectoryCalls
from starboard_client.transport import Transport

Action = Literal["stop", "pause", "resume", "checkpoint", "archive", "start_over"]
EVENTS_AT_ONCE = 2000
RUNS_AT_ONCE = 200
ENTRIES_AT_ONCE = 100


class Starboard(SweepCalls, SuiteCalls, ReportCalls, ImportCalls, ForkCalls, TrajectoryCalls, SiteCalls):
    """A connection to a site. Without arguments, with STARBOARD_URL and STARBOARD_TOKEN, or as `starboard login` saved.

    Requests that the site is too busy for are sent again `retries` times, when it asks for them.
    """

    def __init__(
        self, url: str | None = None, token: str | None = None, *, timeout: float = 30.0, retries: int = 5
    ) -> None:
        found = credentials(url, token)
        self.url = found.url
        self._http = Transport(found.url, found.token, timeout=timeout, retries=retries)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def runs(
        self,
        *,
        state: str | None = None,
        project: str | None = None,
        tag: str | None = None,
        name: str | None = None,
        q: str | None = None,
        sort: str | None = None,
        archived: bool = False,
        limit: int | None = None,
    ) -> Iterator[Run]:
        """Newest first, or sorted by a column or metric, such as `-best:rollout/success`, page by page. `q` has
        words that are each in a run's name, project, notes, tags, environment, preset or model; `limit` is the most
        runs in all."""
        after, left = None, limit
        while left is None or left > 0:
            at_once = RUNS_AT_ONCE if left is None else min(left, RUNS_AT_ONCE)
            page = RunPage.model_validate(
                self._http.get(
                    "runs/",
                    state=state,
                    project=project,
                    tag=tag,
                    name=name,
                    q=q,
                    sort=sort,
                    archived="1" if archived else None,
                    limit=at_once,
                    after=after,
                )
            )
            yield from page.runs
            left = None if left is None else left - len(page.runs)
            if (after := page.next) is None:
                return

    def run(self, run_id: str) -> RunDetail:
        return RunDetail.model_validate(self._http.get(f"runs/{run_id}/"))

    def presets(self) -> list[Preset]:
        return [Preset.model_validate(one) for one in self._http.get("presets/")["presets"]]

    def leaderboards(self) -> dict[str, int]:
        """The number of entries by suite, the suite with most first."""
        return {one["name"]: one["entries"] for one in self._http.get("leaderboard/")["suites"]}

    def entries(
        self,
        suite: str = "",
        *,
        sort: str = "-success",
        per: Literal["entry", "configuration"] = "entry",
        baseline: int | None = None,
        limit: int | None = None,
    ) -> Iterator[Entry]:
        """Entries of a suite that are ranked together, page by page; by default of the suite with most."""
        after: int | None = 1
        left = limit
        while after is not None and (left is None or left > 0):
            page = self._http.get(
                "leaderboard/entries", suite=suite or None, sort=sort, per=per, baseline=baseline, after=after,
                limit=ENTRIES_AT_ONCE,
            )  # fmt: skip
            found = page["rows"] if left is None else page["rows"][:left]
            yield from (Entry.model_validate(one) for one in found)
            after, left = page["next"], None if left is None else left - len(found)

    def compare_entries(self, first: int, other: int, *, measure: str = "success") -> Pair:
        """Two evaluations problem by problem, by `success`, `return`, `turns`, `tokens`, `format`, `pass_at` or
        `pass_all`."""
        return Pair.model_validate(self._http.get("leaderboard/pair", first=first, other=other, measure=measure))

    def launch(
        self,
        *,
        preset: str = "",
        config: Mapping[str, Any] | None = None,
        toml: str | None = None,
        overrides: Mapping[str, Any] | None = None,
        environment: str = "",
        name: str = "",
        project: str = "",
        tags: Sequence[str] = (),
        notes: str = "",
        priority: str = "normal",
        sized_defaults: bool = True,
        key: str | None = None,
    ) -> Launched:
        """Queues a run of a preset, a configuration, or the text of a TOML file, with `overrides` by dotted field.

        With `sized_defaults` fields that are not given have the defaults for the size of the model; the answer lists
        them.

        Two calls with the same `key` within 24 hours give the same run. By default each call has its own, so that a
        connection that breaks does not launch the run twice.
        """
        body: dict[str, Any] = {
            "preset": preset,
            "config": dict(config) if config is not None else None,
            "toml": toml,
            "overrides": dict(overrides or {}),
            "environment": environment,
            "name": name,
            "project": project,
            "tags": list(tags),
            "notes": notes,
            "priority": priority,
            "sized_defaults": sized_defaults,
        }
        given = {field: value for field, value in body.items() if value not in ("", None, [], {})}
        return Launched.model_validate(self._http.post("runs/", given, key=key or str(uuid.uuid4())))

    def create_external_run(
        self,
        *,
        source: str,
        name: str = "",
        environment: str = "elsewhere",
        model: str = "",
        steps: int = 0,
        config: Mapping[str, Any] | None = None,
        project: str = "",
        tags: Sequence[str] = (),
        notes: str = "",
        key: str | None = None,
    ) -> Run:
        """A run that is trained elsewhere; `Recorder` creates one and reports what it does."""
        body: dict[str, Any] = {"source": source, "name": name, "environment": environment, "model": model}
        body |= {"steps": steps, "config": dict(config or {}), "project": project, "tags": list(tags), "notes": notes}
        return Run.model_validate(self._http.post("external-runs/", body, key=key or str(uuid.uuid4())))

    def send_lines(self, run_id: str, lines: Sequence[bytes]) -> Received:
        """JSON lines with `seq`, `step` and metrics, groups, trajectories or an evaluation. Lines that arrived before
        change nothing."""
        return Received.model_validate(self._http.post_lines(f"runs/{run_id}/lines", lines))

    def finish_external_run(self, run_id: str, *, succeeded: bool = True, reason: str = "") -> Run:
        body = {"succeeded": succeeded, "reason": reason}
        return Run.model_validate(self._http.post(f"runs/{run_id}/finish", body))

    def control(self, run_id: str, action: Action) -> Run:
        return Run.model_validate(self._http.post(f"runs/{run_id}/control", {"action": action}))

    def change_settings(
        self, run_id: str, changes: Mapping[str, Any], *, revision: int | None = None
    ) -> dict[str, dict[str, Any]]:
        """Changes settings of a live run from its next step on; returns each field with its old and its new value."""
        body = {"changes": dict(changes), **({"revision": revision} if revision is not None else {})}
        changed: dict[str, dict[str, Any]] = self._http.post(f"runs/{run_id}/settings", body)["changes"]
        return changed

    def label(
        self, run_id: str, *, project: str | None = None, tags: Sequence[str] | None = None, notes: str | None = None
    ) -> Run:
        """Sets what is given; `tags` replace all tags."""
        sent = {"project": project, "tags": list(tags) if tags is not None else None, "notes": notes}
        body = {name: value for name, value in sent.items() if value is not None}
        return Run.model_validate(self._http.post(f"runs/{run_id}/labels", body))

    def events(self, run_id: str, *, after: int = 0) -> Iterator[dict[str, Any]]:
        """All events so far with a greater `seq`, in order, as the engine wrote them."""
        more = True
        while more:
            page = EventPage.model_validate(self._http.get(f"runs/{run_id}/events", after=after, limit=EVENTS_AT_ONCE))
            yield from page.events
            after, more = page.last_seq, page.more

    def watch(
        self, run_id: str, *, after: int = 0, every: float = 2.0, timeout: float | None = None
    ) -> Iterator[Run | dict[str, Any]]:
        """Events as they are written, and the run whenever its state or step is another, until it has ended, or for
        `timeout` seconds."""
        until = time.monotonic() + timeout if timeout is not None else None
        last: tuple[str, int] | None = None
        while True:
            run = Run.model_validate(self._http.get(f"runs/{run_id}/"))
            for event in self.events(run_id, after=after):
                after = max(after, int(event["seq"]))
                yield event
            if (run.state, run.step) != last:
                last = (run.state, run.step)
                yield run
            if run.ended or (until is not None and time.monotonic() >= until):
                return
            time.sleep(every)

    def metric_names(self, run_id: str) -> list[str]:
        return list(map(str, self._http.get(f"runs/{run_id}/outline")["keys"]))

    def metrics(
        self, run_id: str, keys: Sequence[str], *, points: int = 1000, first: int = 0, last: int | None = None
    ) -> MetricColumns:
        """At most 100 metrics, of about `points` steps between `first` and `last`, spikes kept."""
        answer = self._http.get(f"runs/{run_id}/metrics", keys=",".join(keys), points=points, from_=first, to=last)
        return MetricColumns.model_validate(answer)

    def export(self, run_id: str, format: str = "csv") -> Iterator[bytes]:
        """A file part by part: `csv`, `parquet` (metrics), `trajectories` (Parquet), `tensorboard`, `mlflow`, `wandb`,
        or `jsonl` (events)."""
        return self._http.download(f"runs/{run_id}/export", format=format)

    def alerts(self, run_id: str) -> list[Alert]:
        """Newest first."""
        return [Alert.model_validate(one) for one in self._http.get(f"runs/{run_id}/alerts")["alerts"]]

    def record_problems(self, run_id: str) -> list[RecordProblem]:
        """What is wrong with the record of the run, in the order in which it was found."""
        found = self._http.get(f"runs/{run_id}/alerts").get("record_problems", [])  # an older site has none
        return [RecordProblem.model_validate(one) for one in found]

    def held_out(self, run_id: str) -> list[Evaluation]:
        """Evaluations on held-out problems, oldest first."""
        found = self._http.get(f"runs/{run_id}/held-out")["evaluations"]
        return [Evaluation.model_validate(one) for one in found]

    def verdict(self, run_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self._http.get(f"runs/{run_id}/verdict")
        return found

    def log(self, run_id: str, *, after: int | None = None) -> LogPiece:
        """The end of the engine's log, or what follows the offset `after`."""
        return LogPiece.model_validate(self._http.get(f"runs/{run_id}/log", after=after))
