"""Routes of alerts and of notifications."""

from __future__ import annotations

from django.urls import path

from webapp.alerts import notification_views, views

app_name = "alerts"
urlpatterns = [
    path("runs/<str:run_id>/alerts/try/", views.try_rules, name="try"),
    path("runs/<str:run_id>/alerts/<int:seq>/", views.evidence, name="evidence"),
    path("settings/notifications/", notification_views.notifications, name="notifications"),
]
