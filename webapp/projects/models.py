"""Projects, the roles of their members, and invitations, which are stored as hashes."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

LONGEST_NAME = 80
DEFAULT_SLUG = "default"


class Role(models.TextChoices):
    """What a member of a project may do; each may do what those before it may."""

    VIEWER = "viewer", "Viewer"
    EDITOR = "editor", "Editor"
    ADMIN = "admin", "Admin"

    @property
    def rank(self) -> int:
        return list(Role).index(self)

    def allows(self, needed: Role) -> bool:
        return self.rank >= needed.rank


MEANINGS = {
    Role.VIEWER: "reads everything in the project",
    Role.EDITOR: "launches and controls runs, and changes what belongs to the project",
    Role.ADMIN: "adds and removes members, changes settings, and deletes",
}


class Project(models.Model):
    """What runs, sweeps, environments, suites, evaluations and reports belong to. Only `webapp.members.services`
    changes one."""

    project_path = "pk"

    name = models.CharField(max_length=LONGEST_NAME)
    slug = models.SlugField(max_length=LONGEST_NAME, unique=True)
    description = models.TextField(blank=True, default="")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_default(self) -> bool:
        return self.slug == DEFAULT_SLUG


class Membership(models.Model):
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=6, choices=Role.choices)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["user__username"]
        constraints = [models.UniqueConstraint(fields=["project", "user"], name="one_role_per_member")]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.project}"


class Invitation(models.Model):
    """A link that makes one user a member. The secret in it is not stored; `shown_as` is its beginning."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=6, choices=Role.choices)
    email = models.EmailField(blank=True, default="")  # to which it was mailed
    digest = models.CharField(max_length=64, unique=True)
    shown_as = models.CharField(max_length=12)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    used_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"invitation {self.shown_as}… to {self.project}"

    @property
    def is_open(self) -> bool:
        return self.used_at is None and self.revoked_at is None and self.expires_at > timezone.now()


def default_project() -> Project:
    """The project of a new installation, to which belongs what names no other."""
    return Project.objects.get_or_create(slug=DEFAULT_SLUG, defaults={"name": "Default"})[0]


def default_project_id() -> int:
    return default_project().pk
