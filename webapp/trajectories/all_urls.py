"""Routes under /trajectories/: the list, its counts, its downloads and its comparison over all runs."""

from __future__ import annotations

from django.urls import path

from webapp.trajectories import export_views, views

app_name = "all_trajectories"

urlpatterns = [
    path("", views.trajectory_list, name="list"),
    path("counts/", views.trajectory_counts, name="counts"),
    path("export.jsonl", export_views.export, name="export"),
    path("compare/", views.trajectory_compare, name="side_by_side"),
]
