"""The socket of an import."""

from __future__ import annotations

from webapp.launching.models import RolloutImport
from webapp.live.changes import ChangesConsumer
from webapp.updates import import_group


class ImportConsumer(ChangesConsumer):
    model = RolloutImport
    sent = ("state", "read")
    watched = (*sent, "written", "message")

    def group_of(self, pk: int) -> str:
        return import_group(pk)
