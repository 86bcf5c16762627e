"""`/readyz`: whether the site can do its work now, and what it lacks. It is public, so it names parts and nothing else.

`/healthz` says whether a process has to be restarted; this says whether it should get requests.
"""

from __future__ import annotations

import asyncio

from django.contrib.auth.decorators import login_not_required
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from webapp.monitoring.presence import EXPIRY_SECONDS, WORKER, present, redis_client
from webapp.monitoring.questions import PUBLIC_SECONDS, SECONDS, Question, ask_database
from webapp.worker_calls import is_alone
from workers.app import SUPERVISION


class NotReady(Exception):
    """With words for the operator; of other exceptions, which may hold addresses, only the part is named."""


def ask_migrations() -> None:
    """Reads all migrations once; a database whose migrations are applied is not asked again."""
    global _migrated
    if _migrated:
        return
    executor = MigrationExecutor(connection)
    if missing := len(executor.migration_plan(executor.loader.graph.leaf_nodes())):
        raise NotReady(f"{missing} are not applied: run `python manage.py migrate`")
    _migrated = True


def ask_redis() -> None:
    if is_alone():
        raise NotReady("REDIS_URL is not set")
    redis_client().ping()


def ask_workers() -> None:
    if is_alone():
        raise NotReady("without Redis no worker can be reached")
    if not any(SUPERVISION in worker["queues"] for worker in present(WORKER)):
        raise NotReady(f"none that supervises runs was heard of in {EXPIRY_SECONDS} seconds: run `python -m workers`")


_migrated = False
_asked = {"database": ask_database, "migrations": ask_migrations, "redis": ask_redis, "workers": ask_workers}
_questions = {name: Question(f"readyz {name}", ask, repeated_seconds=PUBLIC_SECONDS) for name, ask in _asked.items()}


@login_not_required
@require_safe
async def readyz(request: HttpRequest) -> JsonResponse:
    """Status 200 if everything is there, else 503 with the parts that are not, and why."""
    answers = await asyncio.gather(*(_problem(question) for question in _questions.values()))
    lacking = {name: problem for name, problem in zip(_questions, answers, strict=True) if problem}
    if lacking:
        return JsonResponse({"status": "not ready", "not_ready": lacking}, status=503)
    return JsonResponse({"status": "ready"})


async def _problem(question: Question[None]) -> str:
    try:
        await question.answer()
    except TimeoutError:
        return f"no answer for {SECONDS:g} seconds"
    except NotReady as problem:
        return str(problem)
    except Exception:  # whatever a driver raises: its text may hold an address or a password
        return "cannot be reached"
    return ""
