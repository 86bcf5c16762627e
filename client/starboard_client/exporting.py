"""A run's events as JSON lines, or its metrics as CSV with a row for each step."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from typing import Any, TextIO

STEP = "step_completed"
COLUMNS = ("step", "time", "tokens", "seconds")


def write_jsonl(events: Iterable[dict[str, Any]], file: TextIO) -> int:
    """Returns the number of lines."""
    return sum(1 for event in events if file.write(json.dumps(event) + "\n"))


def write_csv(events: Iterable[dict[str, Any]], names: list[str], file: TextIO) -> int:
    """Returns the number of rows. A step that an attempt took again has its last values."""
    steps = {int(event["step"]): event for event in events if event["kind"] == STEP}
    writer = csv.writer(file)
    writer.writerow([*COLUMNS, *names])
    for _, event in sorted(steps.items()):
        metrics = event["metrics"]
        writer.writerow([*(event[name] for name in COLUMNS), *(metrics.get(name, "") for name in names)])
    return len(steps)
