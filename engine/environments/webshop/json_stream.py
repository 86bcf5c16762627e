"""Reads the top-level entries of a large JSON file one at a time, without holding the file in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

CHUNK = 1 << 20  # characters
_SKIPPED = " \t\r\n,:"


class JsonStream:
    """The entries of an array, or the keys and values of an object. Separators are skipped, not validated. Entries are
    objects, arrays or text: a number could be cut where a chunk ends."""

    def __init__(self, path: Path, *, chunk: int = CHUNK) -> None:
        self.path = path
        self.chunk = chunk
        self._decoder = json.JSONDecoder()
        self._buffer = ""
        self._position = 0

    def elements(self) -> Iterator[Any]:
        """Of a file that is an array."""
        with self.path.open(encoding="utf-8") as file:
            self._expect("[", file)
            while (found := self._next(file)) is not _END:
                yield found

    def items(self) -> Iterator[tuple[str, Any]]:
        """Of a file that is an object."""
        with self.path.open(encoding="utf-8") as file:
            self._expect("{", file)
            while (key := self._next(file)) is not _END:
                yield str(key), self._next(file)

    def _expect(self, bracket: str, file: TextIO) -> None:
        self._skip(file)
        if self._buffer[self._position : self._position + 1] != bracket:
            raise ValueError(f"{self.path.name} does not start with {bracket}")
        self._position += 1

    def _next(self, file: TextIO) -> Any:
        """The next value; `_END` at the closing bracket. An incomplete value is tried again with twice the text."""
        self._skip(file)
        if self._buffer[self._position : self._position + 1] in ("]", "}"):
            return _END
        wanted = self.chunk
        while True:
            try:
                value, self._position = self._decoder.raw_decode(self._buffer, self._position)
                return value
            except json.JSONDecodeError as error:
                if not self._read(file, wanted):
                    raise ValueError(f"{self.path.name} is damaged or cut off: {error.msg}") from error
                wanted *= 2

    def _skip(self, file: TextIO) -> None:
        while True:
            while self._position < len(self._buffer) and self._buffer[self._position] in _SKIPPED:
                self._position += 1
            if self._position < len(self._buffer) or not self._read(file, self.chunk):
                return

    def _read(self, file: TextIO, characters: int) -> bool:
        """Appends to the buffer, without what was consumed of it; False at the end of the file."""
        more = file.read(characters)
        self._buffer, self._position = self._buffer[self._position :] + more, 0
        return bool(more)


_END = object()
