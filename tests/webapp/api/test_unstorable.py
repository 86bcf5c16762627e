"""What no column can hold is refused where a request is read: NUL, half of a surrogate pair, numbers that are not
finite, deep nesting. PostgreSQL raises for the first two; JSON has none of the third."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from webapp.runs.models import Run

pytestmark = pytest.mark.django_db

EXTERNAL = "/api/v1/external-runs/"


def create(browser: Client, config: str) -> Any:
    body = f'{{"source": "mine", "config": {config}}}'
    return browser.post(EXTERNAL, body.encode(), content_type="application/json")


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ('{"a": "\\u0000"}', "config.a: The text has a NUL character"),
        ('{"a": ["x", "\\ud800"]}', "config.a.1: The text has a NUL character or half of a surrogate pair"),
        ('{"\\u0000": 1}', "config: A name in it has a NUL character"),
        ('{"a": {"b": 1e400}}', "config.a.b: The number is inf"),
        ('{"a": -1e400}', "config.a: The number is -inf"),
        ('{"a": NaN}', "The body is not JSON"),
        ('{"a": Infinity}', "The body is not JSON"),
    ],
)
def test_a_body_that_no_column_can_hold_is_refused_at_its_field(browser: Client, config: str, says: str) -> None:
    answer = create(browser, config)
    assert answer.status_code == (422 if says.startswith("config") else 400)
    assert says in answer.json()["error"]
    assert not Run.objects.exists()


def test_text_in_any_language_is_taken(browser: Client) -> None:
    assert create(browser, json.dumps({"größe": "😀", "a": [1, 2.5, None, True]})).status_code == 201


@pytest.mark.parametrize("key", ["a\x7fb", "é", ""])
def test_an_idempotency_key_that_is_no_plain_text_is_refused(browser: Client, key: str) -> None:
    answer = browser.post(
        EXTERNAL, '{"source": "mine"}', content_type="application/json", headers={"Idempotency-Key": key}
    )
    assert answer.status_code == 400
