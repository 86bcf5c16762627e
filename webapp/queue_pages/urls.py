"""URLs of the queue."""

from __future__ import annotations

from django.urls import path

from webapp.queue_pages import views

app_name = "queue"
urlpatterns = [
    path("", views.queue_page, name="page"),
    path("rows/", views.rows, name="rows"),
]
