"""URLs of the list of runs and of the pages of one run, all under `/runs/`."""

from __future__ import annotations

from django.urls import path

from webapp.run_pages import bulk_views, checkpoint_views, control_views, list_views, tab_views, views

app_name = "runs"
urlpatterns = [
    path("", list_views.run_list, name="list"),
    path("rows/", list_views.run_rows, name="rows"),
    path("bulk/", bulk_views.bulk, name="bulk"),
    path("<str:run_id>/", views.detail, name="detail"),
    path("<str:run_id>/control/", views.control, name="control"),
    path("<str:run_id>/labels/", views.change_labels, name="labels"),
    path("<str:run_id>/settings/", control_views.change_settings, name="settings"),
    path("<str:run_id>/again/", control_views.again, name="again"),
    path("<str:run_id>/history/", control_views.history, name="history"),
    path("<str:run_id>/latest/", views.latest, name="latest"),
    path("<str:run_id>/config/differences/", views.config_differences, name="config_differences"),
    path("<str:run_id>/config/download/", views.download_config, name="download_config"),
    path("<str:run_id>/log/", views.log, name="log"),
    path("<str:run_id>/log/download/", views.download_log, name="download_log"),
    path("<str:run_id>/checkpoints/<int:step>/evaluate/", checkpoint_views.evaluate, name="evaluate"),
    path("<str:run_id>/checkpoints/<int:step>/evaluate/stop/", checkpoint_views.stop, name="stop_evaluation"),
    path("<str:run_id>/checkpoints/<int:step>/download/", checkpoint_views.download, name="download_checkpoint"),
    path("<str:run_id>/groups/", tab_views.groups, name="groups"),
    path("<str:run_id>/groups/what-if/", tab_views.what_if, name="what_if"),
    path("<str:run_id>/templates/", tab_views.templates, name="templates"),
]
