"""Writes what happens to accounts into the audit log."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig

from webapp.accounts.signals import account_changed


class AuditConfig(AppConfig):
    name = "webapp.audit"

    def ready(self) -> None:
        account_changed.connect(_record, dispatch_uid="audit")


def _record(user: Any, action: str, detail: dict[str, Any], **_: Any) -> None:
    from webapp.audit.services import record_of

    record_of(user, user, action, **detail)
