"""E-mails about alerts and runs, in plain text."""

from __future__ import annotations

import smtplib
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage

from webapp.alerts.webhooks import Answer
from webapp.visible_text import visible

RECORD_DAMAGED = ("has a damaged record", "damaged record")  # in a sentence, and as a subject


def mail_is_configured() -> bool:
    return bool(settings.EMAIL_HOST)


def send_mail_of(address: str, message: dict[str, Any]) -> Answer:
    if not mail_is_configured():
        return Answer(error="No mail server is configured: EMAIL_HOST is empty.")
    subject, body = as_text(message)
    try:
        EmailMessage(subject, body, to=[address]).send()
    except (OSError, smtplib.SMTPException, ValueError) as error:
        return Answer(error=f"{settings.EMAIL_HOST}: {type(error).__name__}: {error}")
    return Answer()


def as_text(message: dict[str, Any]) -> tuple[str, str]:
    """Subject and body, with hidden characters named. Line breaks in a name must not reach the headers."""
    if message["type"] == "test":
        return "Starboard: test", "This is a test of Starboard's notifications.\n"
    data = message["data"]
    if "run" not in data:
        return _about_ending(message["type"], data)
    if "alert" not in data:
        return _about_run(message["type"], data)
    run, alert, verdict = data["run"], data["alert"], data["verdict"]
    subject = " ".join(f"{alert['severity']}: {run['name']} at step {alert['step']}".split())
    lines = [
        str(alert["message"]),
        "",
        f"Run: {run['name']} (step {alert['step']} of {run['total_steps']})",
        *_verdict(verdict),
        f"Rule: {alert['rule']}, on {alert['metric']}",
        f"Action: {alert['action']}",
        f"Evidence: {data['url']}",
    ]
    return _mail(subject, lines)


def _about_run(event: str, data: dict[str, Any]) -> tuple[str, str]:
    run, name = data["run"], event.removeprefix("run.")
    done, subject = RECORD_DAMAGED if name == "record_damaged" else (name, name)
    lines = [
        f"{run['name']} {done} at step {data['step']} of {run['total_steps']}.",
        *(data[name] for name in ("reason", "remedy") if data[name]),
        "",
        *_verdict(data["verdict"]),
        f"Run: {data['url']}",
    ]
    return _mail(" ".join(f"{subject}: {run['name']}".split()), lines)


def _about_ending(event: str, data: dict[str, Any]) -> tuple[str, str]:
    """Of a sweep or an evaluation."""
    kind, _, done = event.partition(".")
    about = data[kind]
    name = about["name"] if kind == "sweep" else f"{about['model']} on {about['suite']} v{about['version']}"
    lines = [f"{name} {done}.", *([data["reason"]] if data["reason"] else []), "", *ENDINGS[kind](data)]
    return _mail(" ".join(f"{done}: {name}".split()), [*lines, f"{kind.capitalize()}: {data['url']}"])


def _runs(data: dict[str, Any]) -> list[str]:
    counts = {state: count for state, count in sorted(data["runs"].items()) if count and state != "total"}
    return [", ".join([f"Runs: {data['runs']['total']}", *(f"{count} {state}" for state, count in counts.items())])]


def _episodes(data: dict[str, Any]) -> list[str]:
    lines = [f"Episodes: {data['played']} of {data['planned']}"]
    if data["success"] is not None:
        lines.append(f"Success: {data['success']:.3f} [{data['low']:.3f}, {data['high']:.3f}]")
    return lines


ENDINGS = {"sweep": _runs, "evaluation": _episodes}


def _verdict(verdict: dict[str, Any] | None) -> list[str]:
    return [f"Verdict: {verdict['title']}. {verdict['reason']} {verdict['summary']}"] if verdict else []


def _mail(subject: str, lines: list[str]) -> tuple[str, str]:
    ending = ["", "To change these e-mails, go to Notifications in Starboard."]
    return visible(f"Starboard: {subject}")[:200], visible("\n".join([*lines, *ending]) + "\n")
