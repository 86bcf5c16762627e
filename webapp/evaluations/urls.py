"""Routes of comparisons."""

from __future__ import annotations

from django.urls import path

from webapp.evaluations import views

app_name = "evaluations"

urlpatterns = [
    path("compare/", views.compare, name="compare"),
]
