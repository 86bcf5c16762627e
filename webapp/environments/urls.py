"""Routes under /environments/."""

from __future__ import annotations

from django.urls import path

from webapp.environments import live_views, preflight_views, views

app_name = "environments"

urlpatterns = [
    path("", views.environment_list, name="list"),
    path("new/", views.new_environment, name="new"),
    path("preview/", live_views.preview, name="preview"),
    path("play/", live_views.play, name="play"),
    path("facts/", live_views.facts, name="facts"),
    path("<int:pk>/", views.environment_detail, name="detail"),
    path("<int:pk>/edit/", views.edit_environment, name="edit"),
    path("<int:pk>/preflight/", preflight_views.preflight_page, name="preflight"),
    path("<int:pk>/preflight/<int:preflight_id>/", preflight_views.preflight_data, name="preflight_data"),
    path("<int:pk>/preflight/<int:preflight_id>/stop/", preflight_views.stop_preflight, name="stop_preflight"),
    path("<int:pk>/archive/", views.archive_environment, name="archive"),
]
