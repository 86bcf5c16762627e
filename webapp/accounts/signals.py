"""What happens to accounts, for the audit log, which is built on top of them."""

from __future__ import annotations

from django.dispatch import Signal

account_changed = Signal()  # with `user`, `action` and `detail`
