"""The tasks that send: notifications of alerts, whose rows are due, periodically and after each new alert; and links to
reset passwords."""

from __future__ import annotations

from webapp.accounts.password_reset import send_mail
from webapp.alerts.deliveries import deliver_due
from workers.app import DELIVER, SEND_RESET_LINK, app


@app.task(name=DELIVER)
def deliver() -> None:
    deliver_due()


@app.task(name=SEND_RESET_LINK)
def send_reset_link(email: str, host: str, secure: bool) -> None:
    send_mail(email, host, secure)
