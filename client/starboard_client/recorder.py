"""What a training loop elsewhere reports, sent in the background.

`log` never waits and never raises: it puts the values in memory. One thread writes them to a file on disk ten times a
second, another one sends what the site has not confirmed. Without the site they stay in the file until it is there
again, or until `starboard sync` sends them. The site takes a line with a known `seq` once, so sending again doubles
nothing.
"""

from __future__ import annotations

import atexit
import sys
import threading
import time
import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from starboard_client.client import Starboard
from starboard_client.errors import ApiError, StarboardError, Unreachable
from starboard_client.reported import Kind, Report, as_json, bodies, floats
from starboard_client.sending import end, send
from starboard_client.spool import Ending, Spool, spool_folder

WRITE_EVERY = 0.1  # seconds: what a killed process loses at most
SEND_EVERY = 1.0
LONGEST_PAUSE = 60.0  # after failures
AT_END = 30.0  # seconds that `finish` waits for the site
MOST_WAITING = 100_000  # reports in memory; more come only if the disk is slow
MOST_TEXT_WAITING = 200_000_000  # characters of trajectories in memory
MOST_ON_DISK = 4_000_000_000  # bytes without the site; beyond them trajectories are dropped
LONGEST_NAME = 80
RETRIES = 2  # of one request; after that the spool waits


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
        tags: Sequence[str] = (),
        notes: str = "",
        run_id: str = "",
        starboard: Starboard | None = None,
        folder: Path | None = None,
    ) -> None:
        """`run_id` continues a run that was recorded before. If the site does not answer, a new run is created there
        later. Raises `StarboardError` if the site refuses it: training has not begun yet."""
        self._starboard = starboard or Starboard(retries=RETRIES)
        self.dropped = 0  # values that are no numbers, and reports beyond what memory and disk hold
        self._waiting: deque[Report] = deque()
        self._text_waiting = 0
        self._step = -1
        self._seq = 0
        self._warned: set[str] = set()
        self._ending: Ending | None = None
        self._finished = self._sent = False
        create = {
            "source": source,
            "name": name[:LONGEST_NAME],
            "project": project,
            "config": as_json(config or {}),
            "environment": environment,
            "model": model,
            "steps": steps,
            "tags": list(tags),
            "notes": notes,
        }
        self._spool = self._opened(folder or spool_folder(), run_id, create)
        self._last = threading.Event()  # nothing more is logged
        self._written = threading.Event()  # all of it is on disk
        threads = {"starboard-writer": self._write, "starboard-sender": self._send}
        self._threads = [threading.Thread(target=work, name=name, daemon=True) for name, work in threads.items()]
        for thread in self._threads:
            thread.start()
        atexit.register(self._leave)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        self.finish(succeeded=error is None, reason=f"{kind.__name__}: {error}"[:500] if kind else "")

    @property
    def run_id(self) -> str:
        """Empty until the site knows the run."""
        return self._spool.run_id

    @property
    def url(self) -> str:
        """Of its page; empty until the site knows the run."""
        return f"{self._starboard.url}/runs/{self.run_id}/" if self.run_id else ""

    def log(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Metrics of a step; without `step`, of the next one. Values that are no numbers are dropped and counted."""
        values, dropped = floats(metrics)
        self.dropped += dropped
        self._put("metrics", step, values)

    def log_groups(self, groups: Sequence[Mapping[str, Any] | Sequence[float]], step: int | None = None) -> None:
        """What every trajectory of the step returned, prompt by prompt: lists of returns, or dictionaries with
        `returns` and perhaps `successes`, `environment`, `seed` and `kept`. The site computes reward, success and the
        standard deviation within groups from them, which its alert rules read."""
        self._put(
            "groups", step, [as_json(group if isinstance(group, Mapping) else {"returns": group}) for group in groups]
        )

    def log_trajectories(
        self,
        trajectories: Sequence[Mapping[str, Any]],
        step: int | None = None,
        *,
        split: Literal["train", "validation"] = "train",
    ) -> None:
        """Chats: `messages` with `role` and `content`, of which those of the assistant may have `actions`, `reward` and
        `tokens`; and perhaps `group`, `member`, `return`, `success`, `advantage`, `kept`, `environment`, `seed`,
        `facts`. Do not change them afterwards."""
        try:
            size = sum(len(str(one.get("content"))) for each in trajectories for one in each.get("messages", ()))
        except Exception as error:  # whatever else they are
            self.dropped += 1
            self._warn("content", f"Some trajectories of step {step} cannot be sent: {error}")
            return
        if self._text_waiting + size > MOST_TEXT_WAITING:
            self.dropped += len(trajectories)
            self._warn("memory", "Trajectories come faster than they can be written; some are dropped.")
            return
        self._text_waiting += size
        self._put("trajectories", step, (list(trajectories), size), split=split)

    def log_evaluation(
        self,
        *,
        episodes: int,
        successes: int,
        mean_return: float,
        step: int | None = None,
        environment: str = "",
        final: bool = False,
    ) -> None:
        """Episodes on problems that the run does not train on, each played once."""
        found = {"episodes": int(episodes), "successes": int(successes), "mean_return": float(mean_return)}
        self._put("evaluation", step, {**found, "environment": environment, "final": final})

    def finish(self, *, succeeded: bool = True, reason: str = "", wait: float = AT_END) -> bool:
        """Waits until everything has been sent, at most `wait` seconds. False if some of it is still on disk."""
        if not self._finished:
            self._finished = True
            self._ending = Ending(succeeded=succeeded, reason=reason)
        self._stop(wait)
        atexit.unregister(self._leave)
        if not self._sent:
            self._warn("late", f"Not everything was sent; it is kept in {self._spool.path}. Run `starboard sync`.")
            return False
        self._spool.delete()
        return True

    def _opened(self, folder: Path, run_id: str, create: dict[str, Any]) -> Spool:
        if run_id:
            next_seq = self._starboard.send_lines(run_id, []).next_seq
            spool = Spool(folder, self._starboard.url, run_id, run_id=run_id)
            self._seq = max(next_seq - 1, spool.last_seq())
            return spool
        key = str(uuid.uuid4())
        found = ""
        try:
            found = self._starboard.create_external_run(**create, key=key).id
        except Unreachable as error:
            self._warn("unreachable", f"{error} The run is created when the site is there.")
        return Spool(folder, self._starboard.url, key, run_id=found, create=create)

    def _put(self, kind: Kind, step: int | None, content: Any, *, split: str = "") -> None:
        try:
            self._step = int(step) if step is not None else self._step + 1 if kind == "metrics" else max(0, self._step)
        except (TypeError, ValueError):
            self._warn("step", f"The step is {step!r}; it must be a whole number.")
            self.dropped += 1
            return
        if len(self._waiting) < MOST_WAITING:
            self._waiting.append(Report(kind, time.time(), self._step, content, split))
        else:
            self.dropped += 1

    def _leave(self) -> None:
        """The program ends without `finish`. An error ends the run as failed; else how training ended is not known, so
        the run is left open."""
        error = getattr(sys, "last_value", None)  # what ended the program
        if error is not None:
            self._ending = Ending(succeeded=False, reason=f"{type(error).__name__}: {error}"[:500])
        self._stop(AT_END)

    def _stop(self, wait: float) -> None:
        self._last.set()
        until = time.monotonic() + wait
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    # --- from memory to disk ---

    def _write(self) -> None:
        while True:
            last = self._last.wait(WRITE_EVERY)  # before it looks: what is logged before `finish` is written
            self._keep()
            if last:
                break
        if self._ending is not None:
            try:
                self._spool.end(self._ending)
            except OSError as error:
                self._warn("disk", f"The end of the run cannot be written to {self._spool.path}: {error}")
        self._written.set()

    def _keep(self) -> None:
        while self._waiting:
            reports = [self._waiting.popleft() for _ in range(min(len(self._waiting), 1000))]
            lines = [line for report in reports for line in self._lines_of(report)]
            try:
                self._spool.append(lines)
            except OSError as error:
                self.dropped += len(lines)
                self._warn("disk", f"Reports cannot be written to {self._spool.path}: {error}")

    def _lines_of(self, report: Report) -> list[str]:
        if report.kind == "trajectories":
            trajectories, size = report.content
            self._text_waiting -= size
            if self._spool.size() > MOST_ON_DISK:
                self.dropped += len(trajectories)
                self._warn("full", f"{self._spool.path} is too large; trajectories are dropped.")
                return []
            report = report._replace(content=trajectories)
        try:
            found = list(bodies(report))
        except Exception as error:  # whatever the objects of a trainer raise
            self.dropped += 1
            self._warn("content", f"Some {report.kind} of step {report.step} cannot be sent: {error}")
            return []
        lines = [f'{{"seq":{self._seq + number},{body}' for number, body in enumerate(found, start=1)]
        self._seq += len(lines)
        return lines

    # --- from disk to the site ---

    def _send(self) -> None:
        pause = SEND_EVERY
        while True:
            last = self._written.wait(pause)
            try:
                _, rejected = send(self._spool, self._starboard)
                if rejected:
                    self._warn("rejected", f"{len(rejected)} lines were rejected; the first: {rejected[0].reason}")
                if last:
                    end(self._spool, self._starboard)
                    self._sent = True
                pause = SEND_EVERY
            except ApiError as error:
                self._warn("refused", f"The site refuses what this run reports: {error}")
                pause = LONGEST_PAUSE
            except (StarboardError, OSError) as error:
                self._warn("unreachable", f"{error} Reports are kept in {self._spool.path} meanwhile.")
                pause = min(LONGEST_PAUSE, pause * 2)
            if last:
                return

    def _warn(self, kind: str, text: str) -> None:
        """Once of each kind."""
        if kind not in self._warned:
            self._warned.add(kind)
            sys.stderr.write(f"starboard: {text}\n")
