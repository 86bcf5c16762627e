"""URLs under /accounts/sign-in-with/. Those of django-allauth are not mounted."""

from __future__ import annotations

from django.urls import path

from webapp.identity_providers import views

app_name = "identity_providers"
urlpatterns = [
    path("<slug:provider>/", views.start, name="start"),
    path("<slug:provider>/callback/", views.callback, name="callback"),
]
