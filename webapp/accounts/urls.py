"""URLs under /accounts/."""

from __future__ import annotations

from django.urls import path

from webapp.accounts import password_views, token_views, views

app_name = "accounts"
urlpatterns = [
    path("sign-in/", views.sign_in, name="sign_in"),
    path("login/", views.password, name="login"),
    path("logout/", views.sign_out, name="logout"),
    path("password-reset/", password_views.reset, name="password_reset"),
    path("password-reset/<uidb64>/<token>/", password_views.new_password, name="password_reset_confirm"),
    path("tokens/", token_views.tokens, name="tokens"),
]
