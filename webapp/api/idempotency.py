"""A request that is repeated with the same `Idempotency-Key` is answered as before, for 24 hours.

The key, what the request changes, and the answer are one transaction: a second request with the key waits for the
first. A request that was refused leaves no key, so that it can be corrected and sent again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.http import JsonResponse
from django.http.response import HttpResponseBase
from django.utils import timezone

from webapp.adapter_copies import copies_first
from webapp.api.endpoints import Call, Endpoint
from webapp.api.problems import Problem
from webapp.idempotency.models import LONGEST_KEY, IdempotentRequest

HEADER = "Idempotency-Key"
KEPT = timedelta(hours=24)


def once(call: Call, endpoint: Endpoint, answer: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    """What `answer` returns, or what it returned for the same key. Raises `Problem` for a key with another body."""
    key = call.request.headers.get(HEADER)
    if key is None:
        return answer()
    if not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
        raise Problem(
            400,
            f"{HEADER} has {len(key)} characters; allowed are 1 to {LONGEST_KEY} printable ASCII characters",
            "Send a UUID, for example.",
        )
    IdempotentRequest.objects.filter(created_at__lt=timezone.now() - KEPT).delete()
    digest = hashlib.sha256(call.request.body).hexdigest()
    request = {"user": call.user, "endpoint": endpoint.name, "key": key, "digest": digest}
    try:
        return _recorded(request, answer)
    except IntegrityError:
        earlier = IdempotentRequest.objects.filter(user=call.user, endpoint=endpoint.name, key=key).first()
        if earlier is None:  # something else than the key
            raise
    return _again(earlier, digest)


@copies_first
def _recorded(request: dict[str, Any], answer: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    with transaction.atomic():
        row = IdempotentRequest.objects.create(**request)
        made = answer()
        row.status, row.answer = made.status_code, json.loads(getattr(made, "content", b"{}"))
        row.save()
        return made


def _again(earlier: IdempotentRequest, digest: str) -> HttpResponseBase:
    if earlier.digest != digest:
        raise Problem(
            422,
            f"The {HEADER} was sent before with another body",
            "Send a new key for a new request, or the same body to repeat the earlier one.",
        )
    return JsonResponse(earlier.answer, status=earlier.status, headers={"Idempotency-Replayed": "true"})
