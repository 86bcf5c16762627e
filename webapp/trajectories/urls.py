"""Routes under /runs/<run_id>/trajectories/."""

from __future__ import annotations

from django.urls import path

from webapp.trajectories import export_views, views

app_name = "trajectories"

urlpatterns = [
    path("", views.trajectory_list, name="list"),
    path("counts/", views.trajectory_counts, name="counts"),
    path("export.jsonl", export_views.export, name="export"),
    path("compare/", views.trajectory_compare, name="side_by_side"),
    path("<int:pk>/", views.trajectory_detail, name="detail"),
    path("<int:pk>/chat.jsonl", export_views.export_one, name="export_one"),
    path("<int:pk>/data.json", views.trajectory_data, name="data"),
]
