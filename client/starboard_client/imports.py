"""The calls about imports of rollouts, a part of `Starboard`."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from starboard_client.import_models import Import, ImportPage
from starboard_client.transport import Transport

IMPORTS_AT_ONCE = 100


class ImportCalls:
    _http: Transport

    def import_rollouts(
        self, path: str | Path, *, name: str = "", split: str = "", project: str = "", key: str | None = None
    ) -> Import:
        """Uploads a file that RAGEN or verl wrote, JSON Lines, which a worker of the site makes a run of.

        `split` (train or validation) is for rollouts that do not state theirs. Two calls with the same `key` within 24
        hours give the same import; by default each call has its own.
        """
        file = Path(path)
        given = {"file": file.name, "name": name, "split": split, "project": project}
        query = {field: value for field, value in given.items() if value}
        found = self._http.post_file("imports/", file.read_bytes(), key=key or str(uuid.uuid4()), **query)
        return Import.model_validate(found)

    def import_at(self, import_id: int) -> Import:
        """With the first lines that were rejected."""
        return Import.model_validate(self._http.get(f"imports/{import_id}/"))

    def imports(self, *, state: str | None = None, limit: int | None = None) -> Iterator[Import]:
        """Newest first, page by page; `limit` is the most imports in all."""
        after, left = None, limit
        while left is None or left > 0:
            at_once = IMPORTS_AT_ONCE if left is None else min(left, IMPORTS_AT_ONCE)
            page = ImportPage.model_validate(self._http.get("imports/", state=state, limit=at_once, after=after))
            yield from page.imports
            left = None if left is None else left - len(page.imports)
            if (after := page.next) is None:
                return

    def stop_import(self, import_id: int) -> Import:
        return Import.model_validate(self._http.post(f"imports/{import_id}/stop", {}))

    def watch_import(self, import_id: int, *, every: float = 2.0, timeout: float | None = None) -> Iterator[Import]:
        """The import whenever it has progressed, until it has ended, or for `timeout` seconds."""
        until = time.monotonic() + timeout if timeout is not None else None
        last: object = None
        while True:
            found = self.import_at(import_id)
            if (now := (found.state, found.read, found.written)) != last:
                last = now
                yield found
            if found.ended or (until is not None and time.monotonic() >= until):
                return
            time.sleep(every)
