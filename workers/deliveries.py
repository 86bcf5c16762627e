"""The task that sends notifications of alerts. Due ones are rows; it runs periodically and after each new alert."""

from __future__ import annotations

from webapp.alerts.deliveries import deliver_due
from workers.app import DELIVER, app


@app.task(name=DELIVER)
def deliver() -> None:
    deliver_due()
