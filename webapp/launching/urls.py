"""URLs of the forms that create runs."""

from __future__ import annotations

from django.urls import path

from webapp.launching import import_views, views

app_name = "launching"
urlpatterns = [
    path("new/", views.new, name="new"),
    path("check/", views.check, name="check"),
    path("presets/", views.save_preset, name="save_preset"),
    path("presets/<int:pk>/delete/", views.delete_preset, name="delete_preset"),
    path("quick-start/", views.quick_start, name="quick_start"),
    path("import/", import_views.import_form, name="import"),
]
