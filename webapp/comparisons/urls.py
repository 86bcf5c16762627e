"""Routes of comparisons."""

from __future__ import annotations

from django.urls import path

from webapp.comparisons import views

app_name = "comparisons"

urlpatterns = [
    path("compare/", views.compare, name="compare"),
    path("compare/effects.json", views.effects_data, name="effects"),
]
