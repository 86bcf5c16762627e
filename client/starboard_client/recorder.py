"""Metrics of a training loop elsewhere, sent in the background.

`log` never waits and never raises: it puts the values in a queue. A thread writes them to a file on disk first, and
then sends what the site has not confirmed; without the site, they stay in the file until it is there again, or until
`starboard sync` sends them. The site takes a line with a known `seq` once, so sending again doubles nothing.
"""

from __future__ import annotations

import atexit
import json
import math
import queue
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starboard_client.client import Starboard
from starboard_client.errors import ApiError, StarboardError
from starboard_client.models import Run
from starboard_client.spool import Ending, Spool, spool_folder

EVERY = 1.0  # seconds between two batches
LONGEST_PAUSE = 60.0  # after failures
AT_END = 30.0  # seconds that `finish` waits for the site
Line = tuple[int, float, int, dict[str, float]]  # seq, time, step, metrics
MOST_WAITING = 100_000  # lines in memory; more come only if the disk is slow


class Recorder:
    """One run. Use it as a context manager, or call `finish`."""

    def __init__(
        self,
        project: str = "",
        *,
        source: str = "python",
        name: str = "",
        config: Mapping[str, Any] | None = None,
        environment: str = "elsewhere",
        model: str = "",
        steps: int = 0,
        starboard: Starboard | None = None,
        folder: Path | None = None,
    ) -> None:
        """Raises `StarboardError` if the run cannot be created: training has not begun yet."""
        self._starboard = starboard or Starboard()
        self.run: Run = self._starboard.create_external_run(
            source=source,
            name=name,
            project=project,
            config=config,
            environment=environment,
            model=model,
            steps=steps,
        )
        self.dropped = 0  # values that are no numbers, and lines beyond what memory holds
        self._spool = Spool(folder or spool_folder(), self._starboard.url, self.run.id)
        self._lines: queue.Queue[Line | None] = queue.Queue(MOST_WAITING)
        self._seq = 0
        self._warned: set[str] = set()
        self._ending: Ending | None = None
        self._finished = self._sent = False
        self._pause_until = 0.0
        self._thread = threading.Thread(target=self._work, name="starboard", daemon=True)
        self._thread.start()
        atexit.register(self._leave)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        self.finish(succeeded=error is None, reason=f"{kind.__name__}: {error}"[:500] if kind else "")

    def log(self, metrics: Mapping[str, Any], step: int) -> None:
        """Values that are no numbers are dropped and counted."""
        found: dict[str, float] = {}
        for name, value in metrics.items():
            try:
                found[str(name)] = float(value)
            except Exception:  # whatever a tensor of several values raises
                self.dropped += 1
        self._seq += 1
        try:
            self._lines.put_nowait((self._seq, time.time(), int(step), found))
        except (queue.Full, TypeError, ValueError):
            self.dropped += 1

    def finish(self, *, succeeded: bool = True, reason: str = "", wait: float = AT_END) -> bool:
        """Waits until everything has been sent, at most `wait` seconds. False if some of it is still on disk."""
        if not self._finished:
            self._finished = True
            self._ending = Ending(succeeded=succeeded, reason=reason)
            self._lines.put(None)
        self._thread.join(wait)
        atexit.unregister(self._leave)
        if not self._sent:
            self._warn("late", f"Not everything was sent; it is kept in {self._spool.path}. Run `starboard sync`.")
            return False
        self._spool.delete()
        return True

    def _leave(self) -> None:
        """The program ends without `finish`: how training ended is not known, so the run is left open."""
        self._lines.put(None)
        self._thread.join(AT_END)

    def _work(self) -> None:
        pause, more = EVERY, True
        while more:
            more = self._collect()
            try:
                self._send()
                if not more and (ending := self._spool.ending) is not None:
                    self._starboard.finish_external_run(self.run.id, succeeded=ending.succeeded, reason=ending.reason)
                    self._sent = True
                pause = EVERY
            except ApiError as error:
                self._warn("refused", f"The site refuses what this run reports: {error}")
                pause = LONGEST_PAUSE
            except (StarboardError, OSError) as error:
                self._warn("unreachable", f"{error} Metrics are kept in {self._spool.path} meanwhile.")
                pause = min(LONGEST_PAUSE, pause * 2)
            if more:
                self._pause_until = time.monotonic() + pause

    def _collect(self) -> bool:
        """Moves what waits to the disk until the next batch is due; False at the end."""
        while True:
            left = self._pause_until - time.monotonic()
            try:
                found = self._lines.get(timeout=max(0.01, left))
            except queue.Empty:
                if left <= 0:
                    return True
                continue
            lines = [found]
            while len(lines) < MOST_WAITING and not self._lines.empty():
                lines.append(self._lines.get_nowait())
            self._keep([one for one in lines if one is not None])
            if None in lines:
                return False
            if self._pause_until <= time.monotonic():
                return True

    def _keep(self, lines: list[Line]) -> None:
        try:
            self._spool.append([_as_line(*one) for one in lines])
            if self._ending is not None:
                self._spool.end(self._ending)
        except OSError as error:
            self.dropped += len(lines)
            self._warn("disk", f"Metrics cannot be written to {self._spool.path}: {error}")

    def _send(self) -> None:
        while batch := self._spool.next_batch():
            answer = self._starboard.send_metrics(self.run.id, batch.lines)
            if rejected := answer.rejected:
                self._warn("rejected", f"{answer.rejected_count} lines were rejected; the first: {rejected[0].reason}")
            self._spool.confirm(batch)

    def _warn(self, kind: str, text: str) -> None:
        """Once of each kind."""
        if kind not in self._warned:
            self._warned.add(kind)
            sys.stderr.write(f"starboard: {text}\n")


def _as_line(seq: int, at: float, step: int, metrics: dict[str, float]) -> str:
    values = {name: value if math.isfinite(value) else None for name, value in metrics.items()}  # the site counts them
    return json.dumps({"seq": seq, "step": step, "time": at, "metrics": values}, separators=(",", ":"))
