"""The Notifications page: a user's channels for alerts, tests of them, and recent deliveries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from webapp.actions import Action, show_or_act
from webapp.alerts.deliveries import attempt, trial_message
from webapp.alerts.mail import mail_is_configured
from webapp.alerts.models import Delivery, NotificationSettings, Webhook, new_nonce
from webapp.alerts.webhooks import secret_of, why_no_address
from webapp.audit.services import record_of

MOST_WEBHOOKS = 20
SHOWN = 50


class SettingsForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = NotificationSettings
        fields = ["scope", "least_severity", "run_events", "endings", "email", "email_on"]


class WebhookForm(forms.Form):
    url = forms.CharField(max_length=500, error_messages={"required": "Enter a URL."})

    def clean_url(self) -> str:
        url = str(self.cleaned_data["url"])
        if problem := why_no_address(url):
            raise forms.ValidationError(problem)
        return url


@require_http_methods(["GET", "HEAD", "POST"])
def notifications(request: HttpRequest) -> HttpResponse:
    return show_or_act(request, _page, ACTIONS)


def _page(request: HttpRequest, user: User, *, status: int = 200, **more: Any) -> HttpResponse:
    context: dict[str, Any] = {
        "form": SettingsForm(instance=_settings_of(user)),
        "webhook_form": WebhookForm(),
        "webhooks": Webhook.objects.filter(user=user),
        "most_webhooks": MOST_WEBHOOKS,
        "mail": mail_is_configured(),
        "deliveries": _deliveries(user),
    }
    return render(request, "alerts/notifications.html", context | more, status=status)


def _settings_of(user: User) -> NotificationSettings:
    """The user's settings, or unsaved defaults."""
    return NotificationSettings.objects.filter(user=user).first() or NotificationSettings(user=user, email=user.email)


def _saved_settings_of(user: User) -> NotificationSettings:
    found = _settings_of(user)
    if found.pk is None:
        found.save()
    return found


def _deliveries(user: User) -> list[Delivery]:
    return list(Delivery.objects.filter(user=user).select_related("run").prefetch_related("tries")[:SHOWN])


def _save(request: HttpRequest, user: User) -> HttpResponse:
    form = SettingsForm(request.POST, instance=_settings_of(user))
    if not form.is_valid():
        return _page(request, user, status=422, form=form)
    if form.cleaned_data["email_on"] and not form.cleaned_data["email"]:
        form.add_error("email", "Enter an address, or turn e-mail off.")
        return _page(request, user, status=422, form=form)
    with transaction.atomic():
        form.save()
        if form.changed_data:
            record_of(user, user, "notifications", changed=", ".join(form.changed_data).replace("_", " "))
    messages.info(request, "Settings saved.")
    return _back()


def _add(request: HttpRequest, user: User) -> HttpResponse:
    """The response shows the new secret, which cannot be shown again."""
    form = WebhookForm(request.POST)
    if Webhook.objects.filter(user=user).count() >= MOST_WEBHOOKS:
        form.add_error(None, f"The limit is {MOST_WEBHOOKS} webhooks. Remove one first.")
    if not form.is_valid():
        return _page(request, user, status=422, webhook_form=form)
    with transaction.atomic():
        _saved_settings_of(user)
        webhook = Webhook.objects.create(user=user, url=form.cleaned_data["url"])
        _record(user, webhook, "add")
    return _page(request, user, fresh=webhook, secret=secret_of(webhook))


def _renew(request: HttpRequest, user: User, webhook: Webhook) -> HttpResponse:
    webhook.nonce = new_nonce()
    with transaction.atomic():
        webhook.save(update_fields=["nonce"])
        _record(user, webhook, "renew")
    return _page(request, user, fresh=webhook, secret=secret_of(webhook))


def _switch(request: HttpRequest, user: User, webhook: Webhook) -> HttpResponse:
    webhook.on, webhook.off_reason = not webhook.on, ""
    with transaction.atomic():
        webhook.save(update_fields=["on", "off_reason"])
        _record(user, webhook, "switch", on=webhook.on)
    return _back("webhooks")


def _remove(request: HttpRequest, user: User, webhook: Webhook) -> HttpResponse:
    with transaction.atomic():
        _record(user, webhook, "remove")
        webhook.delete()
    messages.info(request, "Webhook removed.")
    return _back("webhooks")


def _record(user: User, webhook: Webhook, action: str, **detail: Any) -> None:
    """With the host alone: the path and the query of such a URL are often its password."""
    record_of(user, user, f"{action}_webhook", **detail, host=urlsplit(webhook.url).hostname or "")


def _test_webhook(request: HttpRequest, user: User, webhook: Webhook) -> HttpResponse:
    return _try(request, user, f"webhook:{webhook.pk}", webhook.url)


def _test_email(request: HttpRequest, user: User) -> HttpResponse:
    address = _settings_of(user).email
    if not address:
        messages.warning(request, "Save an e-mail address first.")
        return _back()
    return _try(request, user, f"email:{user.pk}", address)


def _try(request: HttpRequest, user: User, channel: str, target: str) -> HttpResponse:
    answer = attempt(trial_message(user, channel, target), retry=False)
    if answer.error:
        messages.warning(request, f"The test could not be delivered. {answer.error}")
    else:
        messages.info(request, f"Test delivered to {target}.")
    return _back("deliveries")


def _back(fragment: str = "") -> HttpResponse:
    answer = redirect("alerts:notifications")
    answer["Location"] += f"#{fragment}" if fragment else ""
    return answer


def _with_webhook(handle: Callable[[HttpRequest, User, Webhook], HttpResponse]) -> Action:
    """Looks the webhook up among the user's own."""

    def found(request: HttpRequest, user: User) -> HttpResponse:
        key = request.POST.get("webhook", "")
        known = key.isascii() and key.isdecimal() and len(key) < 18
        webhook = Webhook.objects.filter(user=user, pk=int(key)).first() if known else None
        if webhook is None:
            messages.warning(request, "This webhook does not exist.")
            return _back("webhooks")
        return handle(request, user, webhook)

    return found


ACTIONS: dict[str, Action] = {
    "save": _save,
    "add": _add,
    "renew": _with_webhook(_renew),
    "switch": _with_webhook(_switch),
    "remove": _with_webhook(_remove),
    "test_webhook": _with_webhook(_test_webhook),
    "test_email": _test_email,
}
