"""The task that sends messages about alerts. What is due is in rows; the clock calls it, and each new alert."""

from __future__ import annotations

from webapp.alerts.deliveries import deliver_due
from workers.app import DELIVER, app


@app.task(name=DELIVER)
def deliver() -> None:
    deliver_due()
