"""A checkpoint as a tar archive, read file by file while it is sent: weights and configuration, not the optimiser's
state, and a model card. Links are not followed, since code in an environment can create one in the run's directory."""

from __future__ import annotations

import io
import os
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from engine.evaluation.checkpoint_model import AVERAGED, MODEL, evaluated_model
from webapp.run_pages.model_card import model_card
from webapp.runs.config_file import as_toml
from webapp.runs.live_settings import current
from webapp.runs.models import Checkpoint, Run

FOLDERS = (MODEL, AVERAGED, "adapter")  # of a checkpoint; `engine.training.checkpoint` describes them
CHUNK = 1 << 20
END = bytes(2 * tarfile.BLOCKSIZE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    header: bytes
    file: BinaryIO
    size: int

    @property
    def length(self) -> int:
        """In the archive, where files fill whole blocks."""
        return len(self.header) + self.size + _padding(self.size)


@dataclass(frozen=True, slots=True)
class Archive:
    """Its files are open, so that it can be sent whole although the engine removes the checkpoint meanwhile."""

    members: list[Member]

    @property
    def size(self) -> int:
        return sum(member.length for member in self.members) + len(END)

    def chunks(self) -> Iterator[bytes]:
        """`OSError` if a file has become shorter: the download then breaks off."""
        for member in self.members:
            yield member.header
            with member.file:
                left = member.size
                while left:
                    if not (chunk := member.file.read(min(CHUNK, left))):
                        raise OSError("A file of the checkpoint has become shorter.")
                    left -= len(chunk)
                    yield chunk
            yield bytes(_padding(member.size))
        yield END


def archive_of(run: Run, checkpoint: Checkpoint) -> Archive | None:
    """None if there is no such folder in the run's directory, or no model in it."""
    folder = run.directory / checkpoint.path
    if not folder.resolve().is_relative_to(run.directory.resolve()):
        return None
    files = [path for path in _files(folder) if path.relative_to(folder).parts[0] in FOLDERS]
    opened = [(path.relative_to(folder), file) for path in files if (file := _opened(path)) is not None]
    if not opened:
        return None
    root = f"{run.pk}-step_{checkpoint.step}"
    model = evaluated_model(folder).name
    card = model_card(run, checkpoint.step, averaged=model == AVERAGED)
    made = {"config.toml": as_toml(current(run)).encode(), f"{model}/README.md": card.encode()}
    parts: list[tuple[str, BinaryIO, int]] = [(name, io.BytesIO(text), len(text)) for name, text in made.items()]
    parts += [(str(name), file, os.fstat(file.fileno()).st_size) for name, file in opened]
    members = [
        Member(header=_header(f"{root}/{name}", size, checkpoint.time), file=file, size=size)
        for name, file, size in parts
    ]
    return Archive(members)


def _files(folder: Path) -> list[Path]:
    """All below it, in order; none below a link."""
    return sorted(Path(top) / name for top, _, names in os.walk(folder, followlinks=False) for name in names)


def _opened(path: Path) -> BinaryIO | None:
    """None for what is not a plain file."""
    try:
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    return None


def _header(name: str, size: int, time: float) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = size, int(time), 0o644
    return info.tobuf(tarfile.PAX_FORMAT)


def _padding(size: int) -> int:
    return -size % tarfile.BLOCKSIZE
