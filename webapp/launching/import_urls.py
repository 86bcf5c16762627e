"""URLs of imports."""

from __future__ import annotations

from django.urls import path

from webapp.launching import import_views

app_name = "imports"
urlpatterns = [
    path("<int:pk>/", import_views.detail, name="detail"),
    path("<int:pk>/progress/", import_views.progress, name="progress"),
    path("<int:pk>/stop/", import_views.stop, name="stop"),
]
