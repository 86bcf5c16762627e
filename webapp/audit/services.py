"""Writing the audit log, and reading it as pages show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.db.models import Model

from webapp.audit.models import DONE, REFUSED, AuditEntry
from webapp.projects.access import project_id_of, readable
from webapp.updates import publish_run

if TYPE_CHECKING:
    from webapp.projects.models import Project
    from webapp.runs.models import Run

Actor = User | AnonymousUser | None
ITSELF = "Starboard"
NOT_LISTED = ("changes", "revision", "of", "fork")  # changes are described on their own, the last two are links
DESCRIPTIONS = {
    "launch": "launched the run",
    "fork": "launched the run as a fork",
    "again": "launched the run again",
    "import": "imported the run",
    "adopt": "adopted the run from its directory",
    "ingest": "created the run for a trainer elsewhere",
    "ingest_end": "ended the run",
    "what_if": "submitted a what-if of a trajectory",
    "what_if_again": "submitted a what-if of a what-if",
    "stop_what_if": "requested a stop of a what-if",
    "stop": "requested a stop",
    "pause": "requested a pause",
    "resume": "resumed the run",
    "checkpoint": "requested a checkpoint",
    "evaluate": "requested an evaluation of a checkpoint",
    "stop_evaluation": "requested a stop of the evaluation of a checkpoint",
    "queue_up": "moved the run up in the queue",
    "queue_down": "moved the run down in the queue",
    "queue_first": "moved the run to the head of the queue",
    "queue_to": "moved the run in the queue",
    "settings": "changed settings",
    "rules": "changed alert rules",
    "rename": "renamed the run",
    "label": "changed project, tags or notes",
    "archive": "archived the run",
    "start_over": "started the run over at step 0",
    "rule_checkpoint": "saved a checkpoint by a rule",
    "rule_pause": "paused the run by a rule",
    "rule_stop": "ended the run by a rule",
    "rule_fork": "ended the run and launched a fork by a rule",
    "rule_launch": "launched the run as a fork by a rule of the original",
    "sweep": "launched the run for a sweep",
    "sweep_again": "queued the run again for a sweep",
    "prune": "ended the run for its sweep",
    "preempt": "pre-empted the run",
    "unarchive": "restored the run from the archive",
    "create": "created it",
    "edit": "changed it",
    "hide": "archived it",
    "restore": "restored it from the archive",
    "preflight": "started a pre-flight",
    "stop_preflight": "requested a stop of a pre-flight",
    "submit": "requested it",
    "complete": "sent all of its episodes",
    "halt": "requested a stop",
    "go_on": "resumed it",
    "launch_sweep": "launched the sweep",
    "hold": "launched no more runs",
    "limits": "changed its limits",
    "extend": "extended it",
    "share": "shared it by a link",
    "unshare": "revoked its link",
    "remove": "deleted it",
    "invite": "created an invitation",
    "revoke_invitation": "revoked an invitation",
    "join": "joined by an invitation",
    "add_member": "added a member",
    "role": "changed a role",
    "remove_member": "removed a member",
    "leave": "left the project",
    "create_account": "signed in for the first time, which created the account",
    "create_token": "created an API token",
    "revoke_token": "revoked an API token",
    "change_password": "changed the password, which ended all other sessions",
    "reset_password": "replaced a forgotten password, which ended all sessions",
    "change_email": "changed the e-mail address",
    "end_sessions": "ended other sessions",
    "connect_identity": "connected a way to sign in",
    "disconnect_identity": "disconnected a way to sign in",
    "administrator": "changed whether the user is an administrator, by the groups of the user",
    "quota": "changed quotas",
    "delete_project": "deleted a project",
    "notifications": "changed notifications",
    "add_webhook": "added a webhook",
    "renew_webhook": "replaced the signing secret of a webhook",
    "switch_webhook": "turned a webhook on or off",
    "remove_webhook": "removed a webhook",
    "link_leaderboard": "created a public link to a leaderboard",
    "unlink_leaderboard": "revoked a public link to a leaderboard",
}
KINDS = {  # by model
    "run": "run",  # that was deleted: other entries of a run belong to it
    "environmentdefinition": "environment",
    "suite": "suite",
    "suiteevaluation": "evaluation",
    "sweep": "sweep",
    "report": "report",
    "rolloutimport": "import",
    "project": "project",
    "user": "account",
}


def who(user: Actor) -> str:
    return user.get_username() if user is not None and user.is_authenticated else ITSELF


def record(run: Run, user: Actor, action: str, done: bool = True, **detail: Any) -> bool:
    """Adds an entry and notifies open pages of the run; returns `done`, so that a caller can return it."""
    AuditEntry.objects.create(
        run=run,
        user=user if isinstance(user, User) else None,
        who=who(user),
        token=getattr(user, "token_name", ""),  # set by `accounts.token_middleware`
        action=action,
        detail=detail,
        outcome=DONE if done else REFUSED,
    )
    transaction.on_commit(lambda: publish_run(run.pk, run.last_seq))
    return done


def record_of(row: Model, user: Actor, action: str, done: bool = True, **detail: Any) -> bool:
    """Adds an entry about an environment, a suite, an evaluation, a sweep, a report, an import, a deleted run, a
    project or a user's account; returns `done`."""
    AuditEntry.objects.create(
        project_id=None if isinstance(row, User) else project_id_of(row),
        kind=kind_of(row),
        object_id=str(row.pk),
        object_name=str(row)[:150],
        user=user if isinstance(user, User) else None,
        who=who(user),
        token=getattr(user, "token_name", ""),
        action=action,
        detail=detail,
        outcome=DONE if done else REFUSED,
    )
    return done


def kind_of(row: Model) -> str:
    return KINDS[row._meta.model_name or ""]  # not by type: a request has its user wrapped


def entries_of(row: Model, limit: int = 200) -> list[dict[str, Any]]:
    """About `row`, newest first."""
    found = AuditEntry.objects.filter(kind=kind_of(row), object_id=str(row.pk))[:limit]
    return [_shown(entry) for entry in found]


def entries_in(project: Project, limit: int = 100) -> list[dict[str, Any]]:
    """About the project, its members and what belongs to it besides runs, newest first."""
    found = AuditEntry.objects.filter(project=project, run=None)[:limit]
    return [{**_shown(entry), "kind": entry.kind, "name": entry.object_name} for entry in found]


def entries_of_accounts(limit: int = 100) -> list[dict[str, Any]]:
    """About the accounts of all users, newest first."""
    found = AuditEntry.objects.filter(kind=KINDS["user"])[:limit]
    return [{**_shown(entry), "name": entry.object_name} for entry in found]


def entries(run: Run, limit: int = 200) -> list[dict[str, Any]]:
    """Newest first, each with a description."""
    found = list(AuditEntry.objects.filter(run=run)[:limit])
    others = {entry.pk: entry.detail.get("fork") or entry.detail.get("of") for entry in found}
    known = readable(type(run).objects.all()).in_bulk({pk for pk in others.values() if pk})
    # with the other run it concerns
    return [{**_shown(entry), "other": known.get(others[entry.pk] or "")} for entry in found]


def _shown(entry: AuditEntry) -> dict[str, Any]:
    return {
        "time": entry.time,
        "who": f"{entry.who}, token {entry.token}" if entry.token else entry.who,
        "description": DESCRIPTIONS.get(entry.action, entry.action),
        "detail": describe(entry.detail),
        "refused": entry.outcome == REFUSED,
    }


def settings_authors(run: Run) -> dict[str, str]:
    """Who requested each revision of the run's settings."""
    changed = AuditEntry.objects.filter(run=run, action__in=("settings", "rules"), outcome=DONE)
    pairs = changed.values_list("detail__revision", "who")
    return {str(revision): who for revision, who in pairs if revision is not None}


def describe(detail: dict[str, Any]) -> str:
    """`optimizer.learning_rate 0.0002 → 0.0001; …`, or `key value` where there is no before and after."""
    changes = detail.get("changes", {})
    parts = [f"{field} {_change(one['old'], one['new'])}" for field, one in sorted(changes.items())]
    parts += [f"{key.replace('_', ' ')} {_short(value)}" for key, value in detail.items() if key not in NOT_LISTED]
    return "; ".join(parts)


def _change(old: Any, new: Any) -> str:
    """Of rules: which were added, removed or changed."""
    if not (isinstance(old, list) and isinstance(new, list)):
        return f"{_short(old)} → {_short(new)}"
    before, after = ({rule["name"]: rule for rule in rules} for rules in (old, new))
    parts = {
        "added": [name for name in after if name not in before],
        "removed": [name for name in before if name not in after],
        "changed": [name for name in after if name in before and after[name] != before[name]],
    }
    return ", ".join(f"{word} {' '.join(names)}" for word, names in parts.items() if names) or "reordered"


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
