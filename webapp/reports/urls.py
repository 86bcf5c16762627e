"""Routes of reports."""

from __future__ import annotations

from django.urls import path

from webapp.reports import views

app_name = "reports"

urlpatterns = [
    path("", views.report_list, name="list"),
    path("new/", views.new, name="new"),
    path("preview/", views.preview, name="preview"),
    path("shared/<str:key>/", views.shared, name="shared"),
    path("<int:pk>/", views.detail, name="detail"),
    path("<int:pk>/edit/", views.edit, name="edit"),
    path("<int:pk>/share/", views.share, name="share"),
    path("<int:pk>/delete/", views.delete, name="delete"),
    path("<int:pk>/download/", views.export, name="export"),
]
