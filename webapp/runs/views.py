"""The pages of runs: the list, the form, the run itself, and what can be asked of it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST, require_safe

from webapp.alerts.rules import editor_data, parsed, shown_rules
from webapp.environments.models import EnvironmentVersion
from webapp.runs import config_form, drafts, forks, more_environments, services
from webapp.runs.import_views import imported_page
from webapp.runs.judgement import told_state
from webapp.runs.listing import FILTERS, PAGE, find_runs, rows_of
from webapp.runs.log_tail import tail
from webapp.runs.models import Run
from webapp.runs.page_data import latest_trajectories, run_page
from webapp.runs.presets import RunPreset, run_presets

ACTIONS = {
    "stop": services.request_stop,
    "pause": services.request_pause,
    "resume": services.request_resume,
    "checkpoint": services.request_checkpoint,
    "archive": services.archive,
    "unarchive": services.unarchive,
}


@require_safe
def run_list(request: HttpRequest) -> HttpResponse:
    query = request.GET.dict()
    found = list(find_runs(query)[: PAGE + 1])
    older = _with(request.GET, before=found[PAGE - 1].pk) if len(found) > PAGE else ""
    filters = [
        {"key": key, "label": label, "url": _with(request.GET, show=key, before=None)}
        for key, (label, _) in FILTERS.items()
    ]
    context: dict[str, Any] = {"rows": rows_of(found[:PAGE]), "older": older, "filters": filters, "query": query}
    context["show"] = query.get("show", "all")
    context["is_new"] = not Run.objects.exists()
    return render(request, "runs/list.html", context)


@require_safe
def run_rows(request: HttpRequest) -> HttpResponse:
    """The table's rows alone, for a page that heard news."""
    return render(request, "runs/_rows.html", {"rows": rows_of(find_runs(request.GET.dict())[:PAGE])})


@require_POST
def bulk(request: HttpRequest) -> HttpResponse:
    """Stop, archive or compare the ticked runs."""
    picked = request.POST.getlist("run")[:PAGE]
    action = request.POST.get("action", "")
    if not picked:
        messages.warning(request, "Tick the runs first.")
        return redirect("runs:list")
    if action == "compare":
        return redirect(f"/compare/?runs={','.join(picked)}")
    if action not in ACTIONS:
        return HttpResponse(f"There is no action {action[:40]!r}.", status=400, content_type="text/plain")
    done = sum(ACTIONS[action](run, _user(request)) for run in Run.objects.filter(pk__in=picked))
    messages.info(request, f"{action.capitalize()}: {done} of {len(picked)} runs.")
    return redirect("runs:list")


@require_POST
def quick_start(request: HttpRequest) -> HttpResponse:
    """Launches a preset as it is."""
    presets = run_presets()
    key = request.POST.get("preset", "")
    if key not in presets:
        return HttpResponse(f"There is no preset {key[:40]!r}.", status=400, content_type="text/plain")
    run = services.submit_run(owner=_user(request), config=presets[key].config(), preset=presets[key].title)
    return redirect("runs:detail", run.pk)


def new(request: HttpRequest) -> HttpResponse:
    """The form: GET shows it, from a preset or a run to clone; POST launches, or shows what is wrong."""
    if request.method not in ("GET", "HEAD", "POST"):
        return HttpResponse(status=405, headers={"Allow": "GET, POST"})
    presets = run_presets()
    source = Run.objects.filter(
        pk=request.GET.get("clone") or request.POST.get("clone") or "", imported_from=""
    ).first()
    preset = presets.get(request.POST.get("preset") or request.GET.get("preset") or "") or presets["starter"]
    base = config_form.flatten(preset.config().model_dump(mode="json"))
    step = _step(request.GET.get("step", ""))
    values = _of_source(source, step)
    chosen = _chosen_version(request, source)
    more = more_environments.posted(request.GET) or (more_environments.of_run(source) if source else [])
    made: drafts.Draft | None = None
    if request.method == "POST":
        values, more = _posted(request.POST), more_environments.posted(request.POST)
        rules = _rules(request, source, preset)
        made = drafts.draft(values, chosen, preset=preset.title, rules=rules, more=more, source=source)
        if made.good and made.config is not None:
            run = services.submit_run(
                owner=_user(request),
                config=made.config,
                name=request.POST.get("name", "")[:80],
                preset=preset.title,
                environment_version=chosen,
                cloned_from=source,
            )
            return redirect("runs:detail", run.pk)
    errors = made.errors if made else {}
    context = {
        "sections": config_form.fill(config_form.sections(), values, base, errors),
        "presets": presets.values(),
        "preset": preset,
        "versions": _versions(),
        "chosen": chosen,
        "first_groups": _first_groups(request, source),
        "more": _with_errors(more, errors),
        "kept": more_environments.kept_choices(source),
        "source": source,
        "fork": _fork(values),
        "rule_editor": editor_data(),
        "rules": shown_rules(_rules(request, source, preset)),
        "errors": errors,
        "name": request.POST.get("name") or request.GET.get("name") or _fork_name(source, step),
        "on_cluster": values.get("backend", base["backend"]) == "ray",
    }
    return render(request, "runs/new.html", context, status=422 if errors else 200)


def _first_groups(request: HttpRequest, source: Run | None) -> str:
    """Puzzles of the first environment, which are asked for only where there are others."""
    given = request.POST.get("environment-groups") or request.GET.get("environment-groups")
    return given or (more_environments.groups_of(source.config["environments"][0]) if source else "")


def _with_errors(more: list[more_environments.Row], errors: dict[str, str]) -> list[more_environments.Row]:
    for place, row in enumerate(more, 1):
        row.error = errors.get(f"environments.{place}", "")
    return more


def _of_source(source: Run | None, step: int | None) -> dict[str, str]:
    """What the form begins with: nothing, a run's configuration, or that of a fork from its checkpoint."""
    if source is None:
        return {}
    if step is None or source.imported_from:
        return config_form.flatten(source.config)
    return forks.form_values(source, step)


def _step(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _fork_name(source: Run | None, step: int | None) -> str:
    return f"{source.name[:60]} from step {step}" if source and step is not None else ""


def _fork(values: dict[str, str]) -> dict[str, Any] | None:
    """The run and step that the form starts from, for its heading."""
    run = Run.objects.filter(pk=values.get("model.start_from.run") or "").first()
    return {"run": run, "step": values.get("model.start_from.step", "")} if run else None


def _rules(request: HttpRequest, source: Run | None, preset: RunPreset | None) -> Any:
    """The alert rules of the form's editor, or of the run that is cloned, or else of the preset."""
    if text := request.POST.get("detectors.rules"):
        return parsed(text)
    if source is not None:
        launched_with = source.config.get("detectors", {}).get("rules")  # none of a run that was imported
        return source.settings_changes.get("detectors.rules", launched_with)
    return preset.config().model_dump(mode="json")["detectors"]["rules"] if preset else None


@require_POST
def check(request: HttpRequest) -> HttpResponse:
    """What the form would launch, as it stands: errors by field, warnings, sums, TOML and the command."""
    preset = run_presets().get(request.POST.get("preset", ""))
    source = Run.objects.filter(pk=request.POST.get("clone") or "").first()
    made = drafts.draft(
        _posted(request.POST),
        _chosen_version(request, None),
        preset=preset.title if preset else "custom",
        rules=_rules(request, source, preset),
        more=more_environments.posted(request.POST),
        source=source,
    )
    answer: dict[str, Any] = {"errors": made.errors, "warnings": made.warnings, "memory": made.memory}
    if made.config is not None:
        answer |= {
            "summary": drafts.summary(made.config),
            "toml": drafts.as_toml(made.config),
            "command": drafts.shell_command(),
        }
    return JsonResponse(answer)


@require_safe
def detail(request: HttpRequest, run_id: str) -> HttpResponse:
    run = get_object_or_404(Run.objects.select_related("environment_version__definition", "owner"), pk=run_id)
    if run.imported_from:
        return imported_page(request, run)
    return render(request, "runs/detail.html", run_page(run))


@require_safe
def latest(request: HttpRequest, run_id: str) -> HttpResponse:
    """The newest trajectories alone, for a page that heard of some."""
    run = get_object_or_404(Run, pk=run_id)
    return render(request, "runs/_latest.html", {"run": run, "latest": latest_trajectories(run)})


@require_POST
def control(request: HttpRequest, run_id: str) -> HttpResponse:
    """One request to a run. A script gets JSON, a form goes back to the page."""
    run = get_object_or_404(Run, pk=run_id)
    action = request.POST.get("action", "")
    if action == "rename":
        done = services.rename(run, request.POST.get("name", ""), _user(request))
        problem = "" if done else "A name has at least one character."
    elif action in ACTIONS:
        done = ACTIONS[action](run, _user(request))
        problem = "" if done else f"The run is {run.get_state_display().lower()}: it cannot {action}."
    else:
        allowed = ", ".join([*ACTIONS, "rename"])
        return JsonResponse({"error": f"There is no action {action[:40]!r}. Use one of: {allowed}."}, status=400)
    run.refresh_from_db()
    if request.headers.get("Accept") == "application/json":
        return JsonResponse({"error": problem, "state": told_state(run)}, status=200 if done else 409)
    if problem:
        messages.warning(request, problem)
    target = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(target, allowed_hosts=None)
    return redirect(target) if safe else redirect("runs:detail", run.pk)


@require_GET
def log(request: HttpRequest, run_id: str) -> HttpResponse:
    """The engine's log after a byte; without `after`, its last 64 KiB."""
    run = get_object_or_404(Run, pk=run_id)
    after = request.GET.get("after", "")
    if after and not after.isdecimal():
        return JsonResponse({"error": "after is a number of bytes."}, status=400)
    text, following = tail(run.directory / "engine.log", int(after) if after else None)
    return JsonResponse({"text": text, "next": following})


def _posted(data: QueryDict) -> dict[str, str]:
    return {key: str(value) for key, value in data.items()}


def _versions() -> list[EnvironmentVersion]:
    """The newest version of each environment in use."""
    current = EnvironmentVersion.objects.select_related("definition").filter(definition__archived_at=None)
    newest: dict[int, EnvironmentVersion] = {}
    for version in current.order_by("definition__name", "-number"):
        newest.setdefault(version.definition_id, version)
    return list(newest.values())


def _chosen_version(request: HttpRequest, source: Run | None) -> EnvironmentVersion | None:
    asked = request.POST.get("environment") or request.GET.get("environment") or ""
    if asked.isdecimal():
        return EnvironmentVersion.objects.select_related("definition").filter(pk=int(asked)).first()
    if source is not None and source.environment_version is not None:
        return source.environment_version
    versions = _versions()
    return next((version for version in versions if version.definition.name == "FrozenLake"), None) or (
        versions[0] if versions else None
    )


def _with(query: QueryDict, **changes: str | None) -> str:
    """This address with some of its query changed."""
    copy = query.copy()
    for key, value in changes.items():
        copy.pop(key, None)
        if value:
            copy[key] = value
    return f"?{copy.urlencode()}" if copy else "?"


def _user(request: HttpRequest) -> Any:
    return request.user
