"""URLs under /api/v1/. All but the first two work with and without a trailing slash."""

from __future__ import annotations

from django.urls import path, re_path

from webapp.api import views

app_name = "api"
_RUN = r"^runs/(?P<run_id>[0-9a-z]{1,10})/"

urlpatterns = [
    path("openapi.json", views.openapi_document, name="openapi"),
    path("runs/", views.run_list, name="runs"),
    re_path(_RUN + r"$", views.run_detail, name="run"),
    re_path(_RUN + r"verdict/?$", views.run_verdict, name="verdict"),
    re_path(_RUN + r"regimes/?$", views.run_regimes, name="regimes"),
    re_path(_RUN + r"events/?$", views.run_events, name="events"),
    re_path(_RUN + r"metrics/?$", views.run_metrics, name="metrics"),
    re_path(_RUN + r"bands/?$", views.run_bands, name="bands"),
    re_path(_RUN + r"outline/?$", views.run_outline, name="outline"),
    re_path(_RUN + r"control/?$", views.run_control, name="control"),
    re_path(_RUN + r"settings/?$", views.run_settings, name="settings"),
    re_path(_RUN + r"labels/?$", views.run_labels, name="labels"),
]
