"""Starting a sign-in through a provider, and its end."""

from __future__ import annotations

import logging

from allauth.socialaccount.providers.base.constants import AuthProcess
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST
from requests import RequestException

from webapp.accounts.forms import limited
from webapp.accounts.limits import admit as admit_attempt
from webapp.accounts.limits import forget
from webapp.identity_providers.adapters import FAILED
from webapp.identity_providers.configuration import IdentityProvider
from webapp.identity_providers.pages import onward, refused
from webapp.identity_providers.protocols import provider_of
from webapp.security.client_address import client_address

log = logging.getLogger(__name__)


@login_not_required
@require_POST
def start(request: HttpRequest, provider: str) -> HttpResponse:
    """On the way to the provider. `next` is where the user goes after it, if that is a page of this site."""
    wanted = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return _to_provider(request, _configured(provider), AuthProcess.LOGIN, wanted if is_ours else "")


def start_connecting(request: HttpRequest, user: User, provider: str) -> HttpResponse:
    """Of a user who has just given the password."""
    return _to_provider(request, _configured(provider), AuthProcess.CONNECT, "", user=user.pk)


@login_not_required
@require_GET
def callback(request: HttpRequest, provider: str) -> HttpResponse:
    """Back from the provider. Answers that are not valid are limited as wrong passwords are, of a network alone."""
    configured = _configured(provider)
    address = client_address(request)
    counted_as = f"{configured.key} from {address}"
    if not admit_attempt(counted_as, address):
        return refused(request, configured.name, limited(), status=429)
    adapter = provider_of(request, configured).get_oauth2_adapter(request)
    answer: HttpResponse = OAuth2CallbackView.adapter_view(adapter)(request)
    if not getattr(request, FAILED, False):
        forget(counted_as, address)
    return answer


def _to_provider(
    request: HttpRequest, configured: IdentityProvider, process: str, next_url: str, **state: int
) -> HttpResponse:
    try:
        answer = provider_of(request, configured).redirect(request, process, next_url=next_url or None, **state)
    except (RequestException, OAuth2Error) as error:
        log.warning("A sign-in through %s could not be started: %s", configured.key, error)
        return refused(request, configured.name, f"{configured.name} cannot be reached. Try again later.", status=502)
    return onward(request, configured.name, answer["Location"])


def _configured(key: str) -> IdentityProvider:
    found: IdentityProvider | None = settings.STARBOARD_IDENTITY_PROVIDERS.get(key)
    if found is None:
        raise Http404("This installation has no such identity provider.")
    return found
