"""Alerts as e-mail, in plain text, by the server that the environment names."""

from __future__ import annotations

import smtplib
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage

from webapp.alerts.webhooks import Answer


def mail_is_set_up() -> bool:
    return bool(settings.EMAIL_HOST)


def send_mail_of(address: str, message: dict[str, Any]) -> Answer:
    if not mail_is_set_up():
        return Answer(error="No mail server is set up: EMAIL_HOST is empty.")
    subject, body = in_words(message)
    try:
        EmailMessage(subject, body, to=[address]).send()
    except (OSError, smtplib.SMTPException, ValueError) as error:
        return Answer(error=f"{settings.EMAIL_HOST}: {type(error).__name__}: {error}")
    return Answer()


def in_words(message: dict[str, Any]) -> tuple[str, str]:
    """Subject and text. A name with line breaks must not become a header."""
    if message["type"] == "test":
        return "Starboard: test message", "This is a test of Starboard's notifications.\n"
    data = message["data"]
    run, alert, verdict = data["run"], data["alert"], data["verdict"]
    subject = " ".join(f"{alert['severity']}: {run['name']} at step {alert['step']}".split())
    lines = [
        str(alert["message"]),
        "",
        f"Run: {run['name']} (step {alert['step']} of {run['total_steps']})",
        *([f"Verdict: {verdict['title']}. {verdict['reason']} {verdict['summary']}"] if verdict else []),
        f"Rule: {alert['rule']}, on {alert['metric']}",
        f"Action: {alert['action']}",
        f"Evidence: {data['url']}",
        "",
        "You receive this because of your notification settings in Starboard.",
    ]
    return f"Starboard: {subject}"[:200], "\n".join(lines) + "\n"
