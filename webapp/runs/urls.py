"""Addresses of runs."""

from __future__ import annotations

from django.urls import path

from webapp.runs import control_views, import_views, new_run_views, views, watching_views

app_name = "runs"
urlpatterns = [
    path("", views.run_list, name="list"),
    path("rows/", views.run_rows, name="rows"),
    path("bulk/", views.bulk, name="bulk"),
    path("quick-start/", views.quick_start, name="quick_start"),
    path("new/", new_run_views.new, name="new"),
    path("import/", import_views.import_form, name="import"),
    path("check/", new_run_views.check, name="check"),
    path("<str:run_id>/", views.detail, name="detail"),
    path("<str:run_id>/control/", views.control, name="control"),
    path("<str:run_id>/settings/", control_views.change_settings, name="settings"),
    path("<str:run_id>/again/", control_views.again, name="again"),
    path("<str:run_id>/history/", control_views.history, name="history"),
    path("<str:run_id>/latest/", views.latest, name="latest"),
    path("<str:run_id>/log/", views.log, name="log"),
    path("<str:run_id>/groups/", watching_views.groups, name="groups"),
    path("<str:run_id>/groups/what-if/", watching_views.what_if, name="what_if"),
    path("<str:run_id>/templates/", watching_views.templates, name="templates"),
]
