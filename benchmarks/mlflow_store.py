"""Writes made-up runs to an MLflow store: `lists_against_mlflow` starts it, and reads the id of the experiment and of
the runs with curves from what it prints.

The rows go to MLflow's own tables, many at a time: its client would take an hour for 10,000 runs. Then SQLite's
statistics are updated, which MLflow leaves to its users: without them, a list of 10,000 runs that is sorted by a metric
takes MLflow 5 s instead of 30 ms. It has nothing but the standard library and MLflow, since it runs in the environment
of the trackers.

    python -m benchmarks.mlflow_store RUNS.jsonl sqlite:///mlflow.db [EXPERIMENT]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

AT_ONCE = 500  # runs
Row = dict[str, Any]


def main(path: str, address: str, name: str = "bench") -> None:
    from mlflow.entities import ExperimentTag
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    store = SqlAlchemyStore(address, (Path(path).parent / "artifacts").as_uri())
    kind = ExperimentTag("mlflow.experimentKind", "custom_model_development")  # else its page first asks for the kind
    experiment = int(store.create_experiment(name, tags=[kind]))
    with Path(path).open() as lines:
        runs = (json.loads(line) for line in lines)
        words = [str(experiment)]
        while some := list(islice(runs, AT_ONCE)):
            insert(store, experiment, some)
            words += [run["id"] for run in some if run["curves"]]
    with store.ManagedSessionMaker(read_only=False) as session:
        session.connection().exec_driver_sql("ANALYZE")
    sys.stdout.write(" ".join(words))


def insert(store: Any, experiment: int, runs: list[Row]) -> None:
    from mlflow.store.tracking.dbmodels.models import SqlLatestMetric, SqlMetric, SqlParam, SqlRun, SqlTag

    rows = {
        SqlRun: [run_row(run, experiment) for run in runs],
        SqlTag: [{"run_uuid": run["id"], "key": "mlflow.runName", "value": run["name"]} for run in runs],
        SqlParam: [
            {"run_uuid": run["id"], "key": key, "value": value} for run in runs for key, value in run["params"].items()
        ],
        SqlLatestMetric: [
            metric_row(run, name, run["step"], value) for run in runs for name, value in run["metrics"].items()
        ],
        SqlMetric: [row for run in runs for row in history(run)],
    }
    with store.ManagedSessionMaker(read_only=False) as session:
        for table, values in rows.items():
            session.execute(table.__table__.insert(), values)


def run_row(run: Row, experiment: int) -> Row:
    return {
        "run_uuid": run["id"], "name": run["name"], "source_type": "LOCAL", "source_name": "", "entry_point_name": "",
        "user_id": "bench", "status": "FINISHED", "start_time": run["created"], "end_time": run["created"] + 60_000,
        "source_version": "", "lifecycle_stage": "active", "artifact_uri": f"/tmp/{run['id']}/artifacts",
        "experiment_id": experiment,
    }  # fmt: skip


def history(run: Row) -> Iterator[Row]:
    """All values of the metrics that have a curve, and the last of the others."""
    for name, last in run["metrics"].items():
        if name not in run["curves"]:
            yield metric_row(run, name, run["step"], last)
    for name, values in run["curves"].items():
        for step, value in enumerate(values, 1):
            yield metric_row(run, name, step, value)


def metric_row(run: Row, name: str, step: int, value: float) -> Row:
    time = run["created"] + 100 * step
    return {"run_uuid": run["id"], "key": name, "value": value, "timestamp": time, "step": step, "is_nan": False}


if __name__ == "__main__":
    main(*sys.argv[1:])
