"""Writes made-up trajectories to an MLflow store, each as a trace of one span: `trajectories_against_mlflow` starts it,
and reads the id of the experiment from what it prints.

The rows go to MLflow's own tables, many at a time, and SQLite's statistics are updated, as in `mlflow_store`. A trace
has its outcome as tags, its text as the content of its span, and its tokens as its duration, the only number of a trace
that MLflow sorts by.

    python -m benchmarks.mlflow_traces TRAJECTORIES.jsonl sqlite:///mlflow.db
"""

from __future__ import annotations

import json
import sys
from itertools import islice
from pathlib import Path
from typing import Any

AT_ONCE = 1000
Row = dict[str, Any]


def main(path: str, address: str) -> None:
    from mlflow.entities import ExperimentTag
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    store = SqlAlchemyStore(address, (Path(path).parent / "artifacts").as_uri())
    kind = ExperimentTag("mlflow.experimentKind", "genai_development")
    experiment = int(store.create_experiment("bench", tags=[kind]))
    with Path(path).open() as lines:
        trajectories = (json.loads(line) for line in lines)
        while some := list(islice(trajectories, AT_ONCE)):
            insert(store, experiment, some)
    with store.ManagedSessionMaker(read_only=False) as session:
        session.connection().exec_driver_sql("ANALYZE")
    sys.stdout.write(str(experiment))


def insert(store: Any, experiment: int, trajectories: list[Row]) -> None:
    from mlflow.store.tracking.dbmodels.models import SqlSpan, SqlTraceInfo, SqlTraceTag

    rows: dict[Any, list[Row]] = {
        SqlTraceInfo: [
            {
                "request_id": one["id"], "experiment_id": experiment, "timestamp_ms": one["time"], "status": "OK",
                "execution_time_ms": one["tokens"], "request_preview": "", "response_preview": one["text"][:1000],
                "trace_name": "trajectory", "output_tokens": one["tokens"],
            }
            for one in trajectories
        ],
        SqlTraceTag: [
            {"request_id": one["id"], "key": key, "value": value}
            for one in trajectories for key, value in one["tags"].items()
        ],
        SqlSpan: [
            {
                "trace_id": one["id"], "experiment_id": experiment, "span_id": one["id"], "name": "trajectory",
                "type": "AGENT", "status": "OK", "start_time_unix_nano": 10**6 * one["time"],
                "end_time_unix_nano": 10**6 * (one["time"] + one["tokens"]),
                "content": json.dumps({"name": "trajectory", "attributes": {"mlflow.spanOutputs": one["text"]}}),
            }
            for one in trajectories
        ],
    }  # fmt: skip
    with store.ManagedSessionMaker(read_only=False) as session:
        for table, values in rows.items():
            session.execute(table.__table__.insert(), values)


if __name__ == "__main__":
    main(*sys.argv[1:])
