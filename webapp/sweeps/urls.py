"""URLs of sweeps."""

from __future__ import annotations

from django.urls import path

from webapp.sweeps import control_views, form_views, views

app_name = "sweeps"
urlpatterns = [
    path("", views.sweep_list, name="list"),
    path("new/", form_views.new, name="new"),
    path("check/", form_views.check, name="check"),
    path("<int:pk>/", views.detail, name="detail"),
    path("<int:pk>/results/", views.results, name="results"),
    path("<int:pk>/control/", control_views.control, name="control"),
    path("<int:pk>/limits/", control_views.limits, name="limits"),
    path("<int:pk>/extend/", control_views.extend_sweep, name="extend"),
]
