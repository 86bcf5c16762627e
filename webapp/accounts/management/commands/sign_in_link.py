"""`manage.py sign_in_link`: prints a link that signs a user in once, within ten minutes."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from webapp.accounts.services import local_user, new_link


class Command(BaseCommand):
    requires_system_checks = ()  # they would import every page first
    help = "Prints a link that signs a user in. It is valid once, for ten minutes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", default="", help="username; defaults to the local user")

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.STARBOARD_SIGN_IN_LINKS:
            raise CommandError("Sign-in links are off (STARBOARD_SIGN_IN_LINKS=0). Sign in with a password.")
        self.stdout.write(new_link(self._user(options["user"])))

    def _user(self, name: str) -> User:
        if not name:
            return local_user()
        found = User.objects.filter(username=name).first()
        if found is None:
            raise CommandError(f"User {name!r} does not exist. Create it with `manage.py create_user {name}`.")
        return found
