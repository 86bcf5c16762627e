"""Addresses of evaluations."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver

app_name = "evaluations"
urlpatterns: list[URLPattern | URLResolver] = []
