"""Addresses of runs."""

from __future__ import annotations

from django.urls import path

from webapp.runs import import_views, views

app_name = "runs"
urlpatterns = [
    path("", views.run_list, name="list"),
    path("rows/", views.run_rows, name="rows"),
    path("bulk/", views.bulk, name="bulk"),
    path("quick-start/", views.quick_start, name="quick_start"),
    path("new/", views.new, name="new"),
    path("import/", import_views.import_form, name="import"),
    path("check/", views.check, name="check"),
    path("<str:run_id>/", views.detail, name="detail"),
    path("<str:run_id>/control/", views.control, name="control"),
    path("<str:run_id>/latest/", views.latest, name="latest"),
    path("<str:run_id>/log/", views.log, name="log"),
]
