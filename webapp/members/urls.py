"""URLs under /projects/."""

from __future__ import annotations

from django.urls import path

from webapp.members import views

app_name = "projects"
urlpatterns = [
    path("", views.project_list, name="list"),
    path("new/", views.new_project, name="new"),
    path("join/<str:secret>/", views.join, name="join"),
    path("<slug:slug>/", views.detail, name="detail"),
    path("<slug:slug>/settings/", views.change, name="change"),
    path("<slug:slug>/delete/", views.delete, name="delete"),
    path("<slug:slug>/members/<int:user_id>/", views.change_member, name="member"),
    path("<slug:slug>/invitations/", views.invite, name="invite"),
    path("<slug:slug>/invitations/<int:pk>/revoke/", views.revoke_invitation, name="revoke_invitation"),
]
