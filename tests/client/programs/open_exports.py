"""Opens a run's exports with the libraries that they are for, and prints what those read."""

from __future__ import annotations

import json
import os
import struct
import sys
from pathlib import Path
from typing import Any

folder = Path(sys.argv[1])
METRIC = "rollout/success"


def tensorboard() -> list[tuple[int, float]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    return [(one.step, one.value) for one in events.Scalars(METRIC)]


def mlflow() -> dict[str, Any]:
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=(folder / "mlflow" / "mlruns").as_uri())
    [run] = client.search_runs(["1"])
    history = client.get_metric_history(run.info.run_id, METRIC)
    return {
        "name": run.info.run_name,
        "status": run.info.status,
        "experiment": client.get_experiment("1").name,
        "parameter": run.data.params["rollout.groups"],
        "values": [(one.step, one.value) for one in history],
    }


def wandb() -> dict[str, Any]:
    from wandb.proto.wandb_internal_pb2 import Record

    [file] = (folder / "wandb").rglob("*.wandb")
    found: dict[str, Any] = {"values": []}
    for content in records(file.read_bytes()):
        record = Record()
        record.ParseFromString(content)
        match record.WhichOneof("record_type"):
            case "run":
                found |= {"name": record.run.display_name, "config": len(record.run.config.update)}
            case "history":
                items = {one.nested_key[0]: json.loads(one.value_json) for one in record.history.item}
                found["values"].append((record.history.step.num, items[METRIC]))
            case "exit":
                found["exit"] = record.exit.exit_code
    return found


def records(data: bytes) -> list[bytes]:
    """Of LevelDB's log format, after W&B's header of seven bytes."""
    found, waiting, position = [], b"", 7
    while position < len(data):
        left = 32768 - position % 32768
        if left < 7:
            position += left
            continue
        _, length, kind = struct.unpack_from("<IHB", data, position)
        waiting += data[position + 7 : position + 7 + length]
        position += 7 + length
        if kind in (1, 4):
            found.append(waiting)
            waiting = b""
    return found


def parquet() -> dict[str, Any]:
    from pyarrow import parquet

    metrics = parquet.read_table(folder / "metrics.parquet").to_pylist()
    trajectories = parquet.read_table(folder / "trajectories.parquet").to_pylist()
    return {
        "values": [(row["step"], row["value"]) for row in metrics if row["metric"] == METRIC],
        "trajectories": len(trajectories),
        "roles": [message["role"] for message in trajectories[0]["messages"]] if trajectories else [],
    }


sys.stdout.write(json.dumps({"tensorboard": tensorboard(), "mlflow": mlflow(), "wandb": wandb(), "parquet": parquet()}))
