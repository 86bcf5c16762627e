"""A worker that suspends itself once, in the middle of a transaction that stores events: when the file `freeze` exists
beside its runs. No signal from outside hits that moment for certain."""

from __future__ import annotations

import os
import runpy
import signal
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.backends.signals import connection_created
from django.dispatch import receiver


def freeze_within_a_write(execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
    result = execute(sql, params, many, context)
    if context["connection"].in_atomic_block and sql.startswith("UPDATE") and '"event_offset" = ' in sql:
        try:
            (Path(settings.RUNS_DIR).parent / "freeze").unlink()
        except FileNotFoundError:
            return result
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(1)  # another thread may take the signal, and this one must not commit meanwhile
    return result


@receiver(connection_created)
def watch(connection: Any, **_: Any) -> None:
    if freeze_within_a_write not in connection.execute_wrappers:
        connection.execute_wrappers.append(freeze_within_a_write)


if __name__ == "__main__":
    runpy.run_module("workers", run_name="__main__")
