"""Makes the first user of an installation the admin of its first project."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.contrib.auth import get_user_model
from django.db.models.signals import post_save


class ProjectsConfig(AppConfig):
    name = "webapp.projects"

    def ready(self) -> None:
        post_save.connect(welcome_first_user, sender=get_user_model(), dispatch_uid="first_user")


def welcome_first_user(instance: Any, created: bool, raw: bool = False, **_: Any) -> None:
    """One person alone has a project from the beginning, and need not know that there are any."""
    from webapp.projects.models import Membership, Role, default_project

    if created and not raw and not get_user_model().objects.exclude(pk=instance.pk).exists():
        Membership.objects.get_or_create(project=default_project(), user=instance, defaults={"role": Role.ADMIN})
