"""`manage.py create_user NAME`: creates a user with a password from STARBOARD_PASSWORD or from a prompt."""

from __future__ import annotations

import os
from getpass import getpass
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_email

VARIABLE = "STARBOARD_PASSWORD"


class Command(BaseCommand):
    help = f"Creates a user who signs in with a password, which is read from {VARIABLE} or prompted for."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument(
            "--administrator",
            action="store_true",
            help="may configure environments that reach servers, files or code of this machine",
        )

        parser.add_argument("--email", default="", help="where a link to reset the password is sent")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["name"]
        if User.objects.filter(username=name).exists():
            raise CommandError(
                f"User {name!r} already exists. Change the password with `manage.py changepassword {name}`."
            )
        user = User(username=name, email=options["email"], is_staff=options["administrator"])
        try:
            User.username_validator(name)
            if options["email"]:
                validate_email(options["email"])
            password = os.environ.get(VARIABLE) or getpass("Password: ")
            validate_password(password, user)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        user.set_password(password)
        user.save()
        self.stdout.write(f"{name} can sign in.")
