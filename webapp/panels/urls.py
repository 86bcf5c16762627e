"""URLs of layouts."""

from __future__ import annotations

from django.urls import path

from webapp.panels import views

app_name = "panels"
urlpatterns = [
    path("", views.layouts, name="list"),
    path("<int:pk>/", views.layout, name="one"),
]
