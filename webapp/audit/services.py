"""Writing the record of who asked what, and reading it as a page shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import AnonymousUser, User

from webapp.audit.models import DONE, REFUSED, AuditEntry

if TYPE_CHECKING:
    from webapp.runs.models import Run

Actor = User | AnonymousUser | None
ITSELF = "Starboard"
WORDS = {
    "launch": "launched the run",
    "fork": "launched the run as a fork",
    "again": "launched the run again",
    "import": "imported the run",
    "what_if": "asked what if of a trajectory",
    "stop": "asked to stop",
    "pause": "asked to pause",
    "resume": "asked to go on",
    "checkpoint": "asked for a checkpoint",
    "settings": "changed settings",
    "rules": "changed alert rules",
    "rename": "renamed the run",
    "archive": "archived the run",
    "unarchive": "took the run out of the archive",
}


def who(user: Actor) -> str:
    return user.get_username() if user is not None and user.is_authenticated else ITSELF


def record(run: Run, user: Actor, action: str, done: bool = True, **detail: Any) -> bool:
    """One entry; returns `done`, so that a request can end with it."""
    AuditEntry.objects.create(
        run=run,
        user=user if isinstance(user, User) else None,
        who=who(user),
        action=action,
        detail=detail,
        outcome=DONE if done else REFUSED,
    )
    return done


def entries(run: Run, limit: int = 200) -> list[dict[str, Any]]:
    """Newest first, in words."""
    found = AuditEntry.objects.filter(run=run)[:limit]
    return [
        {
            "time": entry.time,
            "who": entry.who,
            "words": WORDS.get(entry.action, entry.action),
            "detail": in_words(entry.detail),
            "refused": entry.outcome == REFUSED,
        }
        for entry in found
    ]


def in_words(detail: dict[str, Any]) -> str:
    """`optimizer.learning_rate 0.0002 → 0.0001; …`, or `key value` where there is no before and after."""
    changes = detail.get("changes", {})
    told = [f"{field} {_short(one['old'])} → {_short(one['new'])}" for field, one in changes.items()]
    told += [f"{key.replace('_', ' ')} {_short(value)}" for key, value in detail.items() if key != "changes"]
    return "; ".join(told)


def _short(value: Any) -> str:
    """A list of rules by their names."""
    if isinstance(value, list):
        names = [str(one.get("name", "?")) if isinstance(one, dict) else str(one) for one in value]
        return ", ".join(names) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
