"""The URL /account/."""

from __future__ import annotations

from django.urls import path

from webapp.account_page import views

app_name = "account"
urlpatterns = [path("", views.account, name="page")]
