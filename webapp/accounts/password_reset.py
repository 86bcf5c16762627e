"""Password reset: links by Django's tokens, sent by mail from a worker or printed by a command.

The site only queues an address, and the worker looks the account up: the time of an answer tells nothing either.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from webapp.accounts.limits import admit
from webapp.broker import send_task
from workers.app import SEND_RESET_LINK

# a name of an account has no spaces, so these attempts are counted separately from those to sign in
COUNTED_AS = "password reset of "


def mail_is_configured() -> bool:
    return bool(settings.EMAIL_HOST)


def admit_request(email: str, address: str) -> bool:
    """By the same limits as signing in, for addresses of accounts and for those of nobody."""
    return admit(COUNTED_AS + email, address)


def request_mail(email: str, *, host: str, secure: bool) -> bool:
    """Queues the mail to `email`; False if the broker cannot be reached, whoever's address it is."""
    return send_task(SEND_RESET_LINK, email, host, secure, otherwise="A password reset was not sent")


def send_mail(email: str, host: str, secure: bool) -> None:
    """Sends a link to each active account with this address and a password; to nobody if there is none."""
    form = PasswordResetForm({"email": email})
    if not form.is_valid() or not mail_is_configured():
        return
    form.save(
        domain_override=host,
        use_https=secure,
        subject_template_name="accounts/mail/password_reset_subject.txt",
        email_template_name="accounts/mail/password_reset.txt",
        extra_email_context={"hours": str(settings.PASSWORD_RESET_TIMEOUT // 3600)},
    )


def reset_link(user: User) -> str:
    """For an administrator to pass on. It works until it is used, the user signs in, or its time is over."""
    token = default_token_generator.make_token(user)
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    path = reverse("accounts:password_reset_confirm", kwargs={"uidb64": uid, "token": token})
    origins = settings.CSRF_TRUSTED_ORIGINS or [f"http://127.0.0.1:{settings.PORT}"]
    return f"{origins[0]}{path}"
