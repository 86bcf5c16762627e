"""Writing the record of who asked what, and reading it as a page shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction

from webapp.audit.models import DONE, REFUSED, AuditEntry
from webapp.updates import publish_run

if TYPE_CHECKING:
    from webapp.runs.models import Run

Actor = User | AnonymousUser | None
ITSELF = "Starboard"
UNTOLD = ("changes", "revision", "of", "fork")  # the first has words of its own, the last two are links
WORDS = {
    "launch": "launched the run",
    "fork": "launched the run as a fork",
    "again": "launched the run again",
    "import": "imported the run",
    "what_if": "asked what if of a trajectory",
    "what_if_again": "asked what if of a what-if",
    "stop": "asked to stop",
    "pause": "asked to pause",
    "resume": "asked to go on",
    "checkpoint": "asked for a checkpoint",
    "settings": "changed settings",
    "rules": "changed alert rules",
    "rename": "renamed the run",
    "archive": "archived the run",
    "rule_checkpoint": "saved a checkpoint, as a rule says",
    "rule_pause": "paused the run, as a rule says",
    "rule_stop": "ended the run, as a rule says",
    "rule_fork": "ended the run and launched a fork, as a rule says",
    "rule_launch": "launched the run as a fork, as a rule of the other says",
    "unarchive": "took the run out of the archive",
}


def who(user: Actor) -> str:
    return user.get_username() if user is not None and user.is_authenticated else ITSELF


def record(run: Run, user: Actor, action: str, done: bool = True, **detail: Any) -> bool:
    """One entry, which open pages of the run are told of; returns `done`, so that a request can end with it."""
    AuditEntry.objects.create(
        run=run,
        user=user if isinstance(user, User) else None,
        who=who(user),
        action=action,
        detail=detail,
        outcome=DONE if done else REFUSED,
    )
    transaction.on_commit(lambda: publish_run(run.pk, run.last_seq))
    return done


def entries(run: Run, limit: int = 200) -> list[dict[str, Any]]:
    """Newest first, in words."""
    found = list(AuditEntry.objects.filter(run=run)[:limit])
    others = {entry.pk: entry.detail.get("fork") or entry.detail.get("of") for entry in found}
    known = type(run).objects.in_bulk({pk for pk in others.values() if pk})
    return [
        {
            "time": entry.time,
            "who": entry.who,
            "words": WORDS.get(entry.action, entry.action),
            "detail": in_words(entry.detail),
            "refused": entry.outcome == REFUSED,
            "other": known.get(others[entry.pk] or ""),  # the run that it is about as well
        }
        for entry in found
    ]


def askers(run: Run) -> dict[str, str]:
    """Who asked for each revision of the run's settings."""
    changed = AuditEntry.objects.filter(run=run, action__in=("settings", "rules"), outcome=DONE)
    pairs = changed.values_list("detail__revision", "who")
    return {str(revision): who for revision, who in pairs if revision is not None}


def in_words(detail: dict[str, Any]) -> str:
    """`optimizer.learning_rate 0.0002 → 0.0001; …`, or `key value` where there is no before and after."""
    changes = detail.get("changes", {})
    told = [f"{field} {_change(one['old'], one['new'])}" for field, one in changes.items()]
    told += [f"{key.replace('_', ' ')} {_short(value)}" for key, value in detail.items() if key not in UNTOLD]
    return "; ".join(told)


def _change(old: Any, new: Any) -> str:
    """Of rules, which came, which went and which are others now."""
    if not (isinstance(old, list) and isinstance(new, list)):
        return f"{_short(old)} → {_short(new)}"
    before, after = ({rule["name"]: rule for rule in rules} for rules in (old, new))
    parts = {
        "added": [name for name in after if name not in before],
        "removed": [name for name in before if name not in after],
        "changed": [name for name in after if name in before and after[name] != before[name]],
    }
    return ", ".join(f"{word} {' '.join(names)}" for word, names in parts.items() if names) or "in another order"


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
