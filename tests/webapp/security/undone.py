"""Many requests in the same world: what one does to rows, cookies and files is undone before the next."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookies import SimpleCookie
from pathlib import Path

from django.db import transaction
from django.test import Client

Listing = dict[str, tuple[int, int]]


@contextmanager
def undone(client: Client | None = None) -> Iterator[None]:
    """Rows are as before after the block, and so are the cookies of a `client`."""
    cookies = dict(client.cookies) if client else {}
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
    if client:
        client.cookies = SimpleCookie(cookies)


class KeptFolder:
    """A folder with a copy, from which it is restored if it has changed."""

    def __init__(self, folder: Path, copy: Path) -> None:
        self.folder, self.copy = folder, copy
        shutil.copytree(folder, copy)
        self.listing = _listing(folder)

    def restore(self) -> None:
        if _listing(self.folder) != self.listing:
            shutil.rmtree(self.folder)
            shutil.copytree(self.copy, self.folder)
            self.listing = _listing(self.folder)


def _listing(folder: Path) -> Listing:
    """The size of each file, and when it was changed; folders without files count too."""
    found: Listing = {}
    for parent, _, names in os.walk(folder):
        found[parent] = (0, 0)
        for name in names:
            path = os.path.join(parent, name)  # noqa: PTH118 - quicker, and this is done hundreds of times
            state = os.lstat(path)
            found[path] = (state.st_size, state.st_mtime_ns)
    return found
