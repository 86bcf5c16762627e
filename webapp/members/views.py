"""The pages of projects: the list, one with its members, invitations and audit log, and joining by a link."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from webapp.audit.services import entries_in
from webapp.members import services
from webapp.members.forms import InvitationForm, ProjectForm
from webapp.members.services import Refused
from webapp.projects.access import access_of, can, fetch, readable_projects
from webapp.projects.models import MEANINGS, Membership, Project, Role


@require_safe
def project_list(request: HttpRequest) -> HttpResponse:
    return _list(request, ProjectForm())


@require_POST
def new_project(request: HttpRequest) -> HttpResponse:
    form = ProjectForm(request.POST)
    if not form.is_valid():
        return _list(request, form, status=422)
    made = services.create(_user(request), **form.cleaned_data)
    messages.success(request, f"{made.name} is ready. You are its admin.")
    return redirect("projects:detail", made.slug)


@require_safe
def detail(request: HttpRequest, slug: str) -> HttpResponse:
    return _page(request, fetch(Project, slug=slug))


@require_POST
def change(request: HttpRequest, slug: str) -> HttpResponse:
    project = fetch(Project, needs=Role.ADMIN, slug=slug)
    form = ProjectForm(request.POST)
    if not form.is_valid():
        return _page(request, project, form=form, status=422)
    services.change(project, _user(request), **form.cleaned_data)
    messages.success(request, "Saved.")
    return redirect("projects:detail", slug)


@require_POST
def delete(request: HttpRequest, slug: str) -> HttpResponse:
    project = fetch(Project, needs=Role.ADMIN, slug=slug)
    try:
        services.delete(project, _user(request))
    except Refused as refusal:
        messages.warning(request, str(refusal))
        return redirect("projects:detail", slug)
    messages.success(request, f"The project {project.name} was deleted.")
    return redirect("projects:list")


@require_POST
def change_member(request: HttpRequest, slug: str, user_id: int) -> HttpResponse:
    """`action` is `role`, with the new `role`, or `remove`. Every member may remove themselves."""
    user, action = _user(request), request.POST.get("action", "")
    leaves = action == "remove" and user_id == user.pk
    project = fetch(Project, needs=Role.VIEWER if leaves else Role.ADMIN, slug=slug)
    row = Membership.objects.select_related("user").filter(project=project, user_id=user_id).first()
    if row is None:
        raise Http404("There is no such member.")
    if action not in ("role", "remove") or (action == "role" and request.POST.get("role") not in Role.values):
        allowed = "Send `action` as role, with role as viewer, editor or admin, or as remove."
        return HttpResponse(allowed, status=400, content_type="text/plain")
    try:
        if action == "role":
            role = Role(request.POST["role"])
            services.set_role(project, user, row.user, role)
            messages.success(request, f"The role of {row.user.get_username()} is {role.label.lower()} now.")
        else:
            services.remove(project, user, row.user)
            messages.success(request, f"{row.user.get_username()} is no longer a member of {project.name}.")
    except Refused as refusal:
        messages.warning(request, str(refusal))
    return redirect("projects:detail", slug) if can(project, Role.VIEWER) else redirect("projects:list")


@require_POST
def invite(request: HttpRequest, slug: str) -> HttpResponse:
    """Shows the link, this once."""
    project = fetch(Project, needs=Role.ADMIN, slug=slug)
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return _page(request, project, invitation_form=form, status=422)
    user, role = _user(request), Role(form.cleaned_data["role"])
    email = form.cleaned_data["email"] if services.can_mail() else ""
    try:
        secret = services.invite(project, user, role, days=form.cleaned_data["days"], email=email)
    except Refused as refusal:
        form.add_error(None, str(refusal))
        return _page(request, project, invitation_form=form, status=422)
    address = request.build_absolute_uri(reverse("projects:join", args=[secret]))
    if email and not services.mail_invitation(project, user, role, to=email, address=address):
        messages.warning(request, f"The mail to {email} could not be sent. Pass the link on yourself.")
    return _page(request, project, fresh=address)


@require_POST
def revoke_invitation(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    project = fetch(Project, needs=Role.ADMIN, slug=slug)
    if services.revoke(project, _user(request), pk):
        messages.success(request, "The invitation was revoked. Its link no longer works.")
    return redirect("projects:detail", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, secret: str) -> HttpResponse:
    """GET asks, so that a link that is only previewed is not used up; POST joins."""
    found = services.invitation_of(secret)
    if found is None:
        raise Http404("There is no such invitation.")
    problem = services.why_closed(found)
    if request.method == "POST" and not problem:
        try:
            row = services.join(found, _user(request))
        except Refused as refusal:
            problem = str(refusal)
        else:
            messages.success(request, f"You are {_article(row.role)} {row.role} of {found.project.name} now.")
            return redirect("projects:detail", found.project.slug)
    context = {"invitation": found, "problem": problem, "meaning": MEANINGS[Role(found.role)]}
    answer = render(request, "members/join.html", context, status=410 if problem else 200)
    answer["Referrer-Policy"] = "no-referrer"  # the address is a secret
    return answer


def _article(role: str) -> str:
    return "a" if role == Role.VIEWER else "an"


def _list(request: HttpRequest, form: ProjectForm, status: int = 200) -> HttpResponse:
    access = access_of(request.user)
    projects = readable_projects().annotate(members=Count("memberships", distinct=True))
    # by itself, as a join of members with runs has many rows
    active = Project.objects.annotate(active=Count("runs", filter=Q(runs__archived_at=None)))
    runs = dict(active.values_list("pk", "active"))
    rows = [
        (one, "administrator" if access.everything else str(access.role_in(one.pk)), runs[one.pk]) for one in projects
    ]
    return render(request, "members/list.html", {"rows": rows, "form": form}, status=status)


def _page(
    request: HttpRequest,
    project: Project,
    *,
    form: ProjectForm | None = None,
    invitation_form: InvitationForm | None = None,
    fresh: str = "",
    status: int = 200,
) -> HttpResponse:
    administers = can(project, Role.ADMIN)
    members = project.memberships.select_related("user").order_by("user__username")
    context = {
        "project": project,
        "members": members,
        "mine": next((one for one in members if one.user_id == request.user.pk), None),
        "roles": [(role.value, role.label, MEANINGS[role]) for role in Role],
        "administers": administers,
        "form": form or ProjectForm(initial={"name": project.name, "description": project.description}),
        "invitation_form": invitation_form or InvitationForm(),
        "invitations": [one for one in project.invitations.select_related("created_by") if one.is_open]
        if administers
        else [],
        "can_mail": services.can_mail(),
        "fresh": fresh,
        "entries": entries_in(project),
    }
    return render(request, "members/detail.html", context, status=status)


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)  # anonymous users are redirected to sign in
