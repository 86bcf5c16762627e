"""Pages of environments: list, detail with versions, form. Its live preview is in `live_views`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Count, Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from pydantic import BaseModel

from engine.config import EnvironmentConfig
from engine.environments import environment_class, environment_kinds
from engine.environments.wrappers import Layer
from engine.errors import ConfigError
from webapp.audit.services import entries_of
from webapp.environments import services
from webapp.environments.differences import differences, shown
from webapp.environments.forms import BUDGETS, EnvironmentForm
from webapp.environments.models import EnvironmentDefinition, EnvironmentVersion
from webapp.environments.restrictions import ADMINISTRATORS, OWN_CLASS, administers, is_allowed
from webapp.forms.fields import label_of
from webapp.members.choices import project_for_new
from webapp.projects.access import fetch, readable, readable_in
from webapp.projects.models import Role
from webapp.visible_text import visible

Versions = Sequence[EnvironmentVersion]
DEFAULT_KIND = "frozen_lake"


@require_safe
def environment_list(request: HttpRequest) -> HttpResponse:
    archived = request.GET.get("archived") == "1"
    versions = EnvironmentVersion.objects.annotate(
        run_count=Count("runs", filter=readable_in("runs__project"))
    ).order_by("-number")
    definitions = readable(EnvironmentDefinition.objects.filter(archived_at__isnull=not archived)).prefetch_related(
        Prefetch("versions", queryset=versions)
    )
    groups = _by_kind([_card(definition) for definition in definitions])
    return render(request, "environments/list.html", {"groups": groups, "archived": archived, "kinds": _kinds("")})


@require_http_methods(["GET", "HEAD", "POST"])
def new_environment(request: HttpRequest) -> HttpResponse:
    project = project_for_new(cast(User, request.user), request.POST.get("project", ""))
    kind = _kind_asked(request)
    form = EnvironmentForm(request.POST or None, kind=kind, current=None, administrator=administers(request))
    if request.method == "POST" and form.is_valid():
        user = cast(User, request.user)
        version = services.define(name=form.name, config=form.config, owner=user, project=project)
        messages.success(request, f"{version.definition.name} is ready. Choose it when you start a run.")
        return redirect("environments:detail", version.definition_id)
    return _form_page(request, form)


@require_http_methods(["GET", "HEAD", "POST"])
def edit_environment(request: HttpRequest, pk: int) -> HttpResponse:
    definition = fetch(EnvironmentDefinition, needs=Role.EDITOR, pk=pk)
    newest = definition.latest
    form = EnvironmentForm(
        request.POST or None,
        kind=newest.kind,
        current=newest.parsed(),
        definition=definition,
        administrator=administers(request),
    )
    if request.method == "POST" and form.is_valid():
        version = services.edit(definition, request.user, name=form.name, config=form.config)
        messages.success(request, _edited(version, newest))
        return redirect("environments:detail", pk)
    return _form_page(request, form, newest)


@require_safe
def environment_detail(request: HttpRequest, pk: int) -> HttpResponse:
    definition = fetch(EnvironmentDefinition, pk=pk)
    versions = list(definition.versions.annotate(run_count=_run_count()).order_by("-number"))
    shown = _version_asked(request, "version", versions) or versions[0]
    compared = _version_asked(request, "against", versions) or _before(versions, shown)
    return render(
        request,
        "environments/detail.html",
        {
            "definition": definition,
            "versions": versions,
            "shown": shown,
            "measuring": "baselines" not in shown.facts,
            "config": shown.parsed(),
            "kind": kind_texts(shown.kind),
            "parameters": _parameters(shown.parsed()),
            "compared": compared,
            "differences": differences([compared.config, shown.config]) if compared else None,
            "entries": entries_of(definition),
            "runs": readable(shown.runs.order_by("-created_at"))[:20],
        },
    )


@require_POST
def archive_environment(request: HttpRequest, pk: int) -> HttpResponse:
    definition = fetch(EnvironmentDefinition, needs=Role.EDITOR, pk=pk)
    if request.POST.get("action") == "unarchive":
        services.unarchive(definition, request.user)
        messages.success(request, f"{definition.name} is in the list again.")
        return redirect("environments:detail", pk)
    services.archive(definition, request.user)
    messages.success(request, f"{definition.name} is archived. Its runs keep it.")
    return redirect("environments:list")


def _run_count() -> Count:
    return Count("runs", filter=readable_in("runs__project"))


def _by_kind(cards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cards under their kinds, in the order of the kinds' titles; within a kind by name."""
    groups: dict[str, dict[str, Any]] = {}
    for card in sorted(cards, key=lambda card: (card["kind"]["title"].lower(), card["definition"].name.lower())):
        groups.setdefault(card["kind"]["kind"], {"kind": card["kind"], "cards": []})["cards"].append(card)
    return list(groups.values())


def _card(definition: EnvironmentDefinition) -> dict[str, Any]:
    newest = definition.versions.all()[0]
    kind = kind_texts(newest.kind)
    return {
        "definition": definition,
        "version": newest,
        "script_id": f"drawing-{newest.pk}",
        "kind": kind,
        "facts": newest.facts,
        "measuring": "baselines" not in newest.facts,
        "search": visible(f"{definition.name} {kind['kind']} {kind['title']} {kind['summary']}".lower()),
        "run_count": sum(version.run_count for version in definition.versions.all()),  # type: ignore[attr-defined]
    }


def _form_page(request: HttpRequest, form: EnvironmentForm, version: EnvironmentVersion | None = None) -> HttpResponse:
    return render(
        request,
        "environments/form.html",
        {
            "form": form,
            "kind": kind_texts(form.kind_name),
            "kinds": _kinds(form.kind_name),
            "administrator": administers(request),
            "refused_class": _refused_class(request),
            "kind_chosen": "kind" in request.GET,
            "version": version,
            "used": version is not None and version.runs.exists(),
        },
        status=400 if form.errors else 200,
    )


def kind_texts(kind: str) -> dict[str, str]:
    """A kind as templates need it. Templates call callables, and classes are callable, so they get its texts. One that
    cannot be imported, as when its package was removed, is shown by its name."""
    try:
        found = environment_class(kind)
    except ConfigError as error:
        return {"kind": kind, "title": kind, "summary": error.message, "needs": "", "restricted": ""}
    texts = {"title": found.title, "summary": found.summary, "needs": found.needs, "restricted": found.restricted}
    return {"kind": kind, **texts}


def _kinds(current: str) -> list[dict[str, Any]]:
    kinds = [{"kind": kind_texts(kind), "current": kind == current} for kind in environment_kinds()]
    return sorted(kinds, key=lambda item: str(item["kind"]["title"]).lower())


def _refused_class(request: HttpRequest) -> str:
    """Why the class that is asked for has no form; empty if it has one."""
    kind = request.GET.get("kind", "").strip()
    if ":" not in kind or is_allowed(kind, request):
        return ""
    if not administers(request):
        return f"{ADMINISTRATORS} {OWN_CLASS}"
    try:
        environment_class(kind)
    except ConfigError as error:
        return str(error)
    return ""


def _kind_asked(request: HttpRequest) -> str:
    kind = request.GET.get("kind", DEFAULT_KIND).strip()
    return kind if is_allowed(kind, request) else DEFAULT_KIND


def _version_asked(
    request: HttpRequest, name: str, versions: Sequence[EnvironmentVersion]
) -> EnvironmentVersion | None:
    return next((version for version in versions if str(version.number) == request.GET.get(name)), None)


def _before(versions: Versions, shown: EnvironmentVersion) -> EnvironmentVersion | None:
    return next((version for version in versions if version.number < shown.number), None)


def _parameters(config: EnvironmentConfig) -> list[dict[str, Any]]:
    """The kind's parameters, the wrappers and the budgets as they apply, with their meaning: first those that are not
    the kind's own, and limits only if they are not; then the others. Blank ones, such as paths, are left out."""
    kind = environment_class(config.kind)
    of_kind = EnvironmentConfig.model_validate({"kind": config.kind})
    given, usual = kind.Config(**config.parameters), kind.Config()
    budgets = config.model_dump(mode="json", include=set(BUDGETS))
    limits = _rows(config.limits.model_dump(mode="json"), of_kind.limits.model_dump(mode="json"), type(config.limits))
    rows = [
        *_rows(given.model_dump(mode="json"), usual.model_dump(mode="json"), kind.Config),
        *(_layer(index, layer) for index, layer in enumerate(config.wrappers, start=1)),
        *_rows(budgets, of_kind.model_dump(mode="json"), EnvironmentConfig),
        *(row for row in limits if row["changed"]),
    ]
    return sorted(rows, key=lambda row: not row["changed"])


def _rows(values: dict[str, Any], usual: dict[str, Any], model: type[BaseModel]) -> list[dict[str, Any]]:
    return [
        {
            "label": label_of(name),
            "value": shown(values[name]),
            "meaning": field.description,
            "changed": values[name] != usual[name],
            "default": shown(usual[name]) or "blank",
        }
        for name, field in model.model_fields.items()
        if values.get(name) not in ("", None)
    ]


def _layer(index: int, layer: Layer) -> dict[str, Any]:
    settings = layer.model_dump(mode="json")
    kind = settings.pop("type")
    text = ", ".join(f"{name} {shown(value)}" for name, value in settings.items())
    value = f"{kind}: {text}" if text else kind
    return {"label": f"Wrapper {index}", "value": value, "meaning": "", "changed": True, "default": "none"}


def _edited(version: EnvironmentVersion, before: EnvironmentVersion) -> str:
    if version.pk != before.pk:
        return f"Saved as version {version.number}. Runs that used version {before.number} keep it."
    return f"Version {version.number} is saved."
