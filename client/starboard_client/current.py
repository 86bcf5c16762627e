"""One run for the whole program: `init`, `log`, `finish`, as scripts for other trackers have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starboard_client.errors import StarboardError
from starboard_client.recorder import AT_END, Recorder

run: Recorder | None = None


def init(project: str = "", *, name: str = "", config: Mapping[str, Any] | None = None, **options: Any) -> Recorder:
    """Begins a run; one that was begun before is finished. `options` are those of `Recorder`."""
    global run
    finish()
    run = Recorder(project, name=name, config=config, **options)
    return run


def log(metrics: Mapping[str, Any], step: int | None = None) -> None:
    """Metrics of a step; without `step`, of the next one."""
    _begun().log(metrics, step)


def finish(*, succeeded: bool = True, reason: str = "", wait: float = AT_END) -> bool:
    """Ends the run, if there is one. False if some of it is still on disk."""
    global run
    if run is None:
        return True
    ended, run = run, None
    return ended.finish(succeeded=succeeded, reason=reason, wait=wait)


def _begun() -> Recorder:
    if run is None:
        raise StarboardError("No run has begun. Call starboard_client.init() first.")
    return run
