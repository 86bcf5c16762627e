"""A JSON column of which many long values are inserted at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.db import models
from pydantic_core import to_json


class BulkJSONField(models.JSONField):
    """`JSONField`, filled faster: values are encoded by pydantic, and PostgreSQL gets a row's values one by one. Django
    would send arrays of all rows' values, whose quotes psycopg escapes in Python.

    The column is that of `JSONField`, which migrations therefore name.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "encoder": Encoder})

    def deconstruct(self) -> tuple[str, str, Sequence[Any], dict[str, Any]]:
        name, _, args, options = super().deconstruct()
        del options["encoder"]
        return name, "django.db.models.JSONField", args, options

    def get_placeholder(self, value: Any, compiler: Any, connection: Any) -> str:
        """Django inserts fields that have this method as literals."""
        return "%s"


class Encoder(json.JSONEncoder):
    def encode(self, o: Any) -> str:
        return to_json(o, inf_nan_mode="constants").decode()
