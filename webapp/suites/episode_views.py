"""Episodes of an evaluation: the list, the replay of one, and one problem as two evaluations played it."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from engine.errors import RunDirectoryError
from engine.suites.outcomes import Outcome
from engine.suites.suite import Suite
from webapp.projects.access import fetch, readable
from webapp.suites import episodes as reading
from webapp.suites.models import SuiteEvaluation
from webapp.suites.side_by_side import lines_of, sides_of
from webapp.whole_numbers import whole_number


@require_safe
def episodes(request: HttpRequest, pk: int) -> HttpResponse:
    """Those of the item `?item=`, of one `?result=`."""
    evaluation = _evaluation(pk)
    suite = evaluation.suite()
    order = min(whole_number(request.GET.get("item", "")) or 0, len(suite.items) - 1)
    result = request.GET.get("result", "")
    result = result if result in reading.RESULTS else ""
    page = reading.page_of(
        evaluation, suite.items[order], result=result, number=whole_number(request.GET.get("page", "")) or 1
    )
    context = {
        "evaluation": evaluation,
        "suite": suite,
        "order": order,
        "item": suite.items[order],
        "result": result,
        "results": reading.RESULTS,
        "page": page,
        "query": f"item={order}&result={result}",
    }
    return render(request, "suites/episodes.html", context)


@require_safe
def episode(request: HttpRequest, pk: int, item: int, problem: int, sample: int) -> HttpResponse:
    evaluation = _evaluation(pk)
    suite = evaluation.suite()
    outcome = _outcome(evaluation, suite, item, problem, sample)
    count = len(suite.items[item].problems)
    context = {
        "evaluation": evaluation,
        "suite": suite,
        "item": suite.items[item],
        "order": item,
        "problem": problem,
        "sample": sample,
        "trajectory": outcome,
        "samples": reading.samples_of(evaluation, suite, item=item, problem=problem),
        "before": problem - 1 if problem else None,
        "after": problem + 1 if problem + 1 < count else None,
        "others": _others(evaluation),
    }
    return render(request, "suites/episode.html", context)


@require_safe
def episode_data(request: HttpRequest, pk: int, item: int, problem: int, sample: int) -> HttpResponse:
    """The trajectory as it was recorded. `?download=1` offers it as a download."""
    evaluation = _evaluation(pk)
    outcome = _outcome(evaluation, evaluation.suite(), item, problem, sample)
    try:
        text = reading.record_text(evaluation, outcome)
    except RunDirectoryError as error:
        return JsonResponse({"error": {"message": error.message, "remedy": error.remedy}}, status=410)
    response = HttpResponse(text, content_type="application/json")
    if request.GET.get("download") == "1":
        name = f"evaluation-{pk}-{item}-{problem}-{sample}.json"
        response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_safe
def side_by_side(request: HttpRequest) -> HttpResponse:
    """`first` and `other` are evaluations; `item`, `problem` and `sample` the position in the first one's suite."""
    first, other = _evaluation(_number(request, "first")), _evaluation(_number(request, "other"))
    item, problem, sample = (_number(request, name) for name in ("item", "problem", "sample"))
    suite = first.suite()
    if item >= len(suite.items) or problem >= len(suite.items[item].problems):
        raise Http404("The suite has no such problem.")
    sides = sides_of(first, other, item=item, problem=problem, sample=sample)
    context = {
        "sides": sides,
        "lines": lines_of(sides),
        "suite": suite,
        "item": suite.items[item],
        "problem": problem,
        "identity": suite.items[item].problems[problem],
        "sample": sample,
    }
    return render(request, "suites/side_by_side.html", context)


def _number(request: HttpRequest, name: str) -> int:
    return whole_number(request.GET.get(name, "")) or 0


def _evaluation(pk: int) -> SuiteEvaluation:
    return fetch(SuiteEvaluation.objects.select_related("version__suite", "run"), pk=pk)


def _outcome(evaluation: SuiteEvaluation, suite: Suite, item: int, problem: int, sample: int) -> Outcome:
    found = reading.outcome_at(evaluation, suite, item=item, problem=problem, sample=sample)
    if found is None:
        raise Http404("This episode has not been played.")
    return found


def _others(evaluation: SuiteEvaluation) -> list[SuiteEvaluation]:
    """Evaluations of the same conditions, which played the same problems."""
    same = readable(SuiteEvaluation.objects.filter(key=evaluation.key, played__gt=0)).exclude(pk=evaluation.pk)
    return list(same.select_related("run")[:10])
