"""The live tests speak over a real Redis, as the workers' tests do."""

from __future__ import annotations

from tests.workers.conftest import redis_url

__all__ = ["redis_url"]
