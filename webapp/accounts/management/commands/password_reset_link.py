"""`manage.py password_reset_link NAME`: prints a link with which a user chooses a new password."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from webapp.accounts.password_reset import reset_link


class Command(BaseCommand):
    help = "Prints a link with which a user chooses a new password. It works once, for an hour."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["name"]
        found = User.objects.filter(username=name).first()
        if found is None:
            raise CommandError(f"User {name!r} does not exist. Create it with `manage.py create_user {name}`.")
        if not found.is_active:
            raise CommandError(f"User {name!r} is disabled, and could not sign in with a new password.")
        self.stdout.write(reset_link(found))
