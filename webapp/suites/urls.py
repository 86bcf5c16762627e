"""Routes of suites and of evaluations on them."""

from __future__ import annotations

from django.urls import path

from webapp.suites import definition_views, episode_views, evaluation_views, views

app_name = "suites"

urlpatterns = [
    path("suites/", views.suite_list, name="list"),
    path("suites/new/", definition_views.new, name="new"),
    path("suites/<slug:name>/", views.detail, name="detail"),
    path("suites/<slug:name>/edit/", definition_views.edit, name="edit"),
    path("suites/<slug:name>/evaluate/", evaluation_views.evaluate, name="evaluate"),
    path("evaluations/", evaluation_views.evaluation_list, name="evaluations"),
    path("evaluations/side-by-side/", episode_views.side_by_side, name="side_by_side"),
    path("evaluations/<int:pk>/", evaluation_views.evaluation, name="evaluation"),
    path("evaluations/<int:pk>/results/", evaluation_views.results, name="results"),
    path("evaluations/<int:pk>/control/", evaluation_views.control, name="control"),
    path("evaluations/<int:pk>/outcomes.parquet", evaluation_views.outcomes, name="outcomes"),
    path("evaluations/<int:pk>/episodes/", episode_views.episodes, name="episodes"),
    path("evaluations/<int:pk>/episodes/<int:item>/<int:problem>/<int:sample>/", episode_views.episode, name="episode"),
    path(
        "evaluations/<int:pk>/episodes/<int:item>/<int:problem>/<int:sample>/data.json",
        episode_views.episode_data,
        name="episode_data",
    ),
]
