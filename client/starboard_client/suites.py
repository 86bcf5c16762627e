"""The calls about suites and evaluations on them, a part of `Starboard`."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any, Literal

from starboard_client.suite_models import (
    Suite,
    SuiteEvaluation,
    SuiteEvaluationDetail,
    SuiteEvaluationPage,
    SuiteList,
)
from starboard_client.transport import Transport

EVALUATIONS_AT_ONCE = 100


class SuiteCalls:
    _http: Transport

    def suites(self) -> list[Suite]:
        return SuiteList.model_validate(self._http.get("suites/")).suites

    def define_suite(self, definition: str, *, revises: str = "") -> Suite:
        """A new suite from a definition in TOML, or with `revises` the next version of the suite of that name."""
        body = {"definition": definition} | ({"revises": revises} if revises else {})
        return Suite.model_validate(self._http.post("suites/", body))

    def evaluate(
        self,
        suite: str,
        *,
        run: str = "",
        step: int = 0,
        directory: str = "",
        endpoint: str = "",
        model: str = "",
        key_variable: str = "",
        samples: int | None = None,
        again: bool = False,
        key: str | None = None,
    ) -> SuiteEvaluationDetail:
        """Queues the evaluation of a checkpoint (`run` and `step`), a model directory, or an endpoint's `model`.

        The same inputs are evaluated once unless `again`. Two calls with the same `key` within 24 hours give the same
        evaluation; by default each call has its own.
        """
        policy = "checkpoint" if run else "endpoint" if endpoint else "directory"
        body: dict[str, Any] = {"suite": suite, "policy": policy, "again": again}
        given = {
            "run": run,
            "step": step,
            "directory": directory,
            "endpoint": endpoint,
            "endpoint_model": model,
            "key_variable": key_variable,
            "samples": samples,
        }
        body |= {name: value for name, value in given.items() if value not in ("", None)}
        found = self._http.post("evaluations/", body, key=key or str(uuid.uuid4()))
        return SuiteEvaluationDetail.model_validate(found)

    def evaluations(
        self,
        *,
        suite: str | None = None,
        state: str | None = None,
        run: str | None = None,
        limit: int | None = None,
    ) -> Iterator[SuiteEvaluation]:
        """Newest first, page by page; `limit` is the most evaluations in all."""
        after, left = None, limit
        while left is None or left > 0:
            at_once = EVALUATIONS_AT_ONCE if left is None else min(left, EVALUATIONS_AT_ONCE)
            answer = self._http.get("evaluations/", suite=suite, state=state, run=run, limit=at_once, after=after)
            page = SuiteEvaluationPage.model_validate(answer)
            yield from page.evaluations
            left = None if left is None else left - len(page.evaluations)
            if (after := page.next) is None:
                return

    def evaluation(self, evaluation_id: int) -> SuiteEvaluationDetail:
        """With the results of each item."""
        return SuiteEvaluationDetail.model_validate(self._http.get(f"evaluations/{evaluation_id}/"))

    def control_evaluation(self, evaluation_id: int, action: Literal["stop", "resume"]) -> SuiteEvaluationDetail:
        found = self._http.post(f"evaluations/{evaluation_id}/control", {"action": action})
        return SuiteEvaluationDetail.model_validate(found)

    def outcomes(self, evaluation_id: int) -> Iterator[bytes]:
        """The Parquet file with the outcome of every episode, part by part."""
        return self._http.download(f"evaluations/{evaluation_id}/outcomes")

    def watch_evaluation(
        self, evaluation_id: int, *, every: float = 2.0, timeout: float | None = None
    ) -> Iterator[SuiteEvaluationDetail]:
        """The evaluation whenever more has been played, until it has ended, or for `timeout` seconds."""
        until = time.monotonic() + timeout if timeout is not None else None
        last: object = None
        while True:
            found = self.evaluation(evaluation_id)
            if (found.state, found.played) != last:
                last = (found.state, found.played)
                yield found
            if found.ended or (until is not None and time.monotonic() >= until):
                return
            time.sleep(every)
