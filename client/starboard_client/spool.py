"""Lines on disk that a site has not confirmed yet: one file for each run, and beside it how far it is confirmed.

A file that was sent twice is no harm, so the confirmed offset may be older than the truth. The process that writes a
file holds a lock on it, so that nobody else sends and deletes it meanwhile.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # not on Windows: there two processes may send the same lines, which the site takes once
    fcntl = None  # type: ignore[assignment]

MOST_BYTES = 1_000_000  # of a batch, before compression
MOST_LINES = 5000


class InUse(Exception):
    """Another process writes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    lines: list[bytes]
    end: int  # the offset behind it


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    succeeded: bool
    reason: str = ""


class Spool:
    """`key` names it: of a run that the site did not know when it began, the key that creates it once; of others the
    run's own. `create` is what the run is created from, until it has an ID."""

    def __init__(
        self, folder: Path, url: str, key: str, *, run_id: str = "", create: Mapping[str, Any] | None = None
    ) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.url, self.key, self.run_id, self.create = url, key, run_id, dict(create or {})
        self.path = folder / f"{key}.jsonl"
        self.ending: Ending | None = None  # how the run ended, if the site does not know it yet
        self._about = folder / f"{key}.json"
        self._offset = 0
        self._lock = threading.Lock()
        self._file = self.path.open("ab")
        if fcntl is not None:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self._file.close()
                raise InUse(str(self.path)) from None
        if self._about.exists():
            self._load()
        else:
            self._save()

    def close(self) -> None:
        self._file.close()

    def append(self, lines: Sequence[str]) -> None:
        if lines:
            with self._lock:
                self._file.write(("\n".join(lines) + "\n").encode())
                self._file.flush()

    def next_batch(self) -> Batch | None:
        """The first complete lines that are not confirmed."""
        with self.path.open("rb") as file:
            file.seek(self._offset)
            lines = file.readlines(MOST_BYTES)[:MOST_LINES]
        whole = [line for line in lines if line.endswith(b"\n")]
        return Batch(lines=whole, end=self._offset + sum(map(len, whole))) if whole else None

    def last_seq(self) -> int:
        """Of the newest complete line; 0 if there is none."""
        lines = [line for line in self.path.read_bytes().split(b"\n")[:-1] if line]
        return int(json.loads(lines[-1])["seq"]) if lines else 0

    def confirm(self, batch: Batch) -> None:
        """Deletes the file's content once all of it has arrived."""
        with self._lock:
            self._offset = batch.end
            if self._offset >= self.path.stat().st_size:
                os.truncate(self.path, 0)
                self._offset = 0
        self._save()

    def created(self, run_id: str) -> None:
        self.run_id = run_id
        self._save()

    def end(self, ending: Ending) -> None:
        self.ending = ending
        self._save()

    def is_empty(self) -> bool:
        return self.next_batch() is None

    def size(self) -> int:
        return self.path.stat().st_size

    def delete(self) -> None:
        self.close()
        for path in (self.path, self._about):
            path.unlink(missing_ok=True)

    def _load(self) -> None:
        about = json.loads(self._about.read_text())
        self._offset, self.create = int(about["confirmed"]), dict(about["create"])
        self.run_id = self.run_id or str(about["run"])
        self.ending = Ending(**about["ending"]) if about["ending"] else None

    def _save(self) -> None:
        written = self._about.with_suffix(".new")
        about = {
            "url": self.url,
            "run": self.run_id,
            "create": self.create,
            "confirmed": self._offset,
            "ending": asdict(self.ending) if self.ending else None,
        }
        written.write_text(json.dumps(about))
        written.replace(self._about)


def spool_folder() -> Path:
    """STARBOARD_SPOOL, or a folder of this user's."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
    return Path(os.environ.get("STARBOARD_SPOOL") or Path(state) / "starboard" / "spool")


def spools(folder: Path) -> Iterator[Spool]:
    """Those that were left behind; not those that a process is writing."""
    for about in sorted(folder.glob("*.json")):
        with contextlib.suppress(InUse):
            yield Spool(folder, str(json.loads(about.read_text())["url"]), about.stem)
