"""Routes under /runs/<run_id>/what-ifs/."""

from __future__ import annotations

from django.urls import path

from webapp.whatif import views

app_name = "whatif"

urlpatterns = [
    path("of/<int:pk>/", views.new, name="new"),
    path("<int:what_if_id>/", views.detail, name="detail"),
    path("<int:what_if_id>/fork/", views.fork, name="fork"),
    path("<int:what_if_id>/events.json", views.events, name="events"),
    path("<int:what_if_id>/data.json", views.data, name="data"),
    path("<int:what_if_id>/stop/", views.stop, name="stop"),
]
