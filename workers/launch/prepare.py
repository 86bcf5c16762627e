"""`python -m workers.launch.prepare`: what has to be in the database before the site is opened.

Tables, the local user, the example environments, and on the very first start a run, so that the first page moves.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import sys
from pathlib import Path

import django

ROOT = Path(__file__).resolve().parents[2]
STARTER = ROOT / "engine" / "configs" / "starter.toml"
log = logging.getLogger("starboard")


def prepare() -> None:
    from django.core.management import call_command

    call_command("migrate", interactive=False, verbosity=0)
    from webapp.accounts.services import local_user

    user = local_user()
    load_examples()
    queue_starter(user)


def load_examples() -> None:
    name = "webapp.environments.examples"
    if importlib.util.find_spec(name) is None:
        return
    importlib.import_module(name).load_examples()


def queue_starter(user: object) -> None:
    """Only where there has never been a run."""
    from engine.config import read_config
    from webapp.runs.models import Run
    from webapp.runs.services import submit_run

    if Run.objects.exists() or not STARTER.exists():
        return
    submit_run(owner=user, config=read_config(STARTER), name="Starter run", preset="starter")  # type: ignore[arg-type]


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    django.setup()
    prepare()
    return 0


if __name__ == "__main__":
    sys.exit(main())
