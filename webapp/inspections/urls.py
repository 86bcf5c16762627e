"""Routes under /models/."""

from __future__ import annotations

from django.urls import path

from webapp.inspections import views

app_name = "inspections"

urlpatterns = [path("", views.models, name="models")]
