"""The socket of an evaluation."""

from __future__ import annotations

from webapp.live.changes import ChangesConsumer
from webapp.suites.models import SuiteEvaluation
from webapp.updates import evaluation_group


class EvaluationConsumer(ChangesConsumer):
    model = SuiteEvaluation
    sent = watched = ("state", "played")

    def group_of(self, pk: int) -> str:
        return evaluation_group(pk)
