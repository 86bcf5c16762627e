"""Lines on disk that a site has not confirmed yet: one file for each run, and beside it how far it is confirmed.

A file that was sent twice is no harm, so the confirmed offset may be older than the truth.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

MOST_BYTES = 1_000_000  # of a batch, before compression
MOST_LINES = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    lines: list[bytes]
    end: int  # the offset behind it


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    succeeded: bool
    reason: str = ""


class Spool:
    def __init__(self, folder: Path, url: str, run_id: str) -> None:
        self.url, self.run_id = url, run_id
        self.path = folder / f"{run_id}.jsonl"
        self._about = folder / f"{run_id}.json"
        self.ending: Ending | None = None  # how the run ended, if the site does not know it yet
        self._offset = 0
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._about.exists():
            about = json.loads(self._about.read_text())
            self._offset = int(about["confirmed"])
            self.ending = Ending(**about["ending"]) if about["ending"] else None
        else:
            self._save()

    def append(self, lines: Sequence[str]) -> None:
        if lines:
            with self.path.open("a") as file:
                file.write("\n".join(lines) + "\n")

    def next_batch(self) -> Batch | None:
        """The first complete lines that are not confirmed."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                lines = file.readlines(MOST_BYTES)[:MOST_LINES]
        except FileNotFoundError:
            return None
        whole = [line for line in lines if line.endswith(b"\n")]
        return Batch(lines=whole, end=self._offset + sum(map(len, whole))) if whole else None

    def confirm(self, batch: Batch) -> None:
        """Deletes the file's content once all of it has arrived."""
        self._offset = batch.end
        if self._offset >= self.path.stat().st_size:
            os.truncate(self.path, 0)
            self._offset = 0
        self._save()

    def end(self, ending: Ending) -> None:
        self.ending = ending
        self._save()

    def is_empty(self) -> bool:
        return self.next_batch() is None

    def delete(self) -> None:
        for path in (self.path, self._about):
            path.unlink(missing_ok=True)

    def _save(self) -> None:
        written = self._about.with_suffix(".new")
        ending = asdict(self.ending) if self.ending else None
        written.write_text(json.dumps({"url": self.url, "confirmed": self._offset, "ending": ending}))
        written.replace(self._about)


def spool_folder() -> Path:
    """STARBOARD_SPOOL, or a folder of this user's."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
    return Path(os.environ.get("STARBOARD_SPOOL") or Path(state) / "starboard" / "spool")


def spools(folder: Path) -> Iterator[Spool]:
    """Those that were left behind."""
    for about in sorted(folder.glob("*.json")):
        yield Spool(folder, str(json.loads(about.read_text())["url"]), about.stem)
