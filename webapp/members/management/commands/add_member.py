"""`manage.py add_member NAME PROJECT ROLE`: gives a user a role in a project."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from webapp.audit.services import record_of
from webapp.projects.models import Membership, Project, Role


class Command(BaseCommand):
    help = "Gives a user a role in a project."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="username")
        parser.add_argument("project", help="as in the address of the project's page, such as default")
        parser.add_argument("role", choices=Role.values)

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["name"]).first()
        if user is None:
            raise CommandError(f"User {options['name']!r} does not exist. Create it with `manage.py create_user`.")
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            known = ", ".join(Project.objects.values_list("slug", flat=True)[:20]) or "none"
            raise CommandError(f"Project {options['project']!r} does not exist. There are: {known}.")
        with transaction.atomic():
            Membership.objects.update_or_create(project=project, user=user, defaults={"role": options["role"]})
            record_of(project, None, "add_member", member=user.get_username(), role=options["role"])
        self.stdout.write(f"{user.get_username()} is {options['role']} of {project.name}.")
