"""Routes of the leaderboard."""

from __future__ import annotations

from django.urls import path

from webapp.evaluations import views

app_name = "evaluations"

urlpatterns = [
    path("leaderboard/", views.leaderboard, name="leaderboard"),
]
