"""A form that is submitted twice, as by a double click, is acted on once.

`{% form_token %}` puts a token into the form. The token, what the submission makes, and the address that it leads to
are one transaction: a second submission of the same values waits for the first, and leads to the same address. One that
was refused leaves no token, and other values with the same token, as after going back in the browser, are a new
submission.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils import timezone

from webapp.adapter_copies import copies_first
from webapp.idempotency.models import LONGEST_KEY, IdempotentRequest

FIELD = "form_token"
KEPT = timedelta(hours=24)


def once(request: HttpRequest, act: Callable[[], str]) -> str:
    """The address that `act` returns, or returned for the same submission. It returns "" where it made nothing."""
    token = request.POST.get(FIELD, "")
    if not token or len(token) > LONGEST_KEY or not request.user.is_authenticated:
        return act()
    digest = hashlib.sha256(request.POST.urlencode().encode()).hexdigest()
    same = IdempotentRequest.objects.filter(user=request.user, endpoint=FIELD, key=digest)
    IdempotentRequest.objects.filter(created_at__lt=timezone.now() - KEPT).delete()
    try:
        return _recorded({"user": request.user, "endpoint": FIELD, "key": digest, "digest": digest}, act)
    except IntegrityError:
        if (earlier := same.first()) is None:  # something else than the token
            raise
    messages.info(request, "This form was already submitted, so nothing was added. Open a new form to submit another.")
    return str(earlier.answer["address"])


@copies_first
def _recorded(submission: dict[str, Any], act: Callable[[], str]) -> str:
    with transaction.atomic():
        row = IdempotentRequest.objects.create(**submission)
        row.answer = {"address": (address := act())}
        row.save() if address else row.delete()
        return address
