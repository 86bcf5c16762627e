"""The URL /account/."""

from __future__ import annotations

from django.urls import path

from webapp.account_page import quota_views, views

app_name = "account"
urlpatterns = [
    path("", views.account, name="page"),
    path("quotas/", quota_views.quotas, name="quotas"),
]
