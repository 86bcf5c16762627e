"""Submitting and reading pre-flights. A worker plays them; each user has one at a time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction

from engine.errors import ModelError
from webapp.audit.services import Actor, record_of
from webapp.environments.model_access import check_model
from webapp.environments.models import MODEL, PLAYERS, EnvironmentVersion, Preflight
from webapp.jobs import Refused
from webapp.whole_numbers import whole_number

MOST_PROBLEMS = 64
MOST_ROLLOUTS = 32
LARGEST_SEED = 900_000_000
LONGEST_MODEL = 500


def submit(version: EnvironmentVersion, owner: User | AnonymousUser | None, data: Mapping[str, str]) -> Preflight:
    """A queued pre-flight; `Refused` with a reason otherwise."""
    player = data.get("player", "scripted")
    if player not in PLAYERS:
        raise Refused(f"There is no player {player[:40]!r}. Choose one of: {', '.join(PLAYERS)}.")
    fields: dict[str, Any] = {
        "problems": _number(data, "problems", 1, MOST_PROBLEMS),
        "rollouts": _number(data, "rollouts", 1, MOST_ROLLOUTS),
        "first_seed": _number(data, "first_seed", 0, LARGEST_SEED),
        "player": player,
        "model": _model(data) if player == MODEL else "",
    }
    user = owner if isinstance(owner, User) else None
    with transaction.atomic():
        if Preflight.any_live_of(user):
            raise Refused("You already have a pre-flight in progress. Wait until it ends, or stop it.")
        made = Preflight.objects.create(version=version, config=version.config, owner=user, **fields)
        record_of(version.definition, owner, "preflight", version=version.number, player=player)
        transaction.on_commit(made.enqueue)
    return made


@transaction.atomic
def stop(preflight: Preflight, user: Actor) -> bool:
    """False if it is over."""
    return record_of(preflight.version.definition, user, "stop_preflight", preflight.stop())


def as_json(preflight: Preflight) -> dict[str, Any]:
    return {
        "state": preflight.state,
        "label": preflight.get_state_display(),
        "live": preflight.is_live,
        "message": preflight.message,
        "asked": {"problems": preflight.problems, "rollouts": preflight.rollouts},
        "report": preflight.report or None,
    }


def _number(data: Mapping[str, str], name: str, low: int, high: int) -> int:
    number = whole_number(data.get(name, "").strip())
    if number is None or not low <= number <= high:
        raise Refused(f"{name.replace('_', ' ').capitalize()}: give a whole number from {low} to {high:,}.")
    return number


def _model(data: Mapping[str, str]) -> str:
    path = data.get("model", "").strip()
    if not path or len(path) > LONGEST_MODEL or not re.fullmatch(r"[^\0\r\n]+", path) or path.startswith("-"):
        raise Refused("Give the model: a directory that holds config.json, a Hugging Face id, or tiny.")
    try:
        check_model(path)
    except ModelError as error:
        raise Refused(str(error)) from None
    return path
