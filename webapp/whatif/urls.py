"""Routes under /runs/<run_id>/what-ifs/."""

from __future__ import annotations

from django.urls import path

from webapp.whatif import views

app_name = "whatif"

urlpatterns = [
    path("of/<int:pk>/", views.new, name="new"),
    path("<int:pk>/", views.detail, name="detail"),
    path("<int:pk>/fork/", views.fork, name="fork"),
    path("<int:pk>/events.json", views.events, name="events"),
    path("<int:pk>/data.json", views.data, name="data"),
    path("<int:pk>/stop/", views.stop, name="stop"),
]
