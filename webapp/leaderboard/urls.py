"""Routes of the leaderboard."""

from __future__ import annotations

from django.urls import path

from webapp.leaderboard import link_views, views

app_name = "leaderboard"

urlpatterns = [
    path("leaderboard/", views.leaderboard, name="leaderboard"),
    path("leaderboard/runs/", views.run_results, name="run_results"),
    path("leaderboard/pair/", views.pair, name="pair"),
    path("leaderboard/export.<str:form>", views.export, name="export"),
    path("leaderboard/links/", link_views.links, name="links"),
    path("leaderboard/links/<int:pk>/revoke/", link_views.revoke_link, name="revoke_link"),
    path("public/leaderboard/<str:secret>/", link_views.public, name="public"),
]
