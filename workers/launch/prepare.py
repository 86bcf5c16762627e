"""`python -m workers.launch.prepare [--link]`: prepares the database before the site starts.

Tables, the local user, the example environments, the suites that ship and, at the very first start, a starter run.
`--link` prints a sign-in link for the local user.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from django.contrib.auth.models import User

ROOT = Path(__file__).resolve().parents[2]
STARTER = ROOT / "engine" / "configs" / "starter.toml"


def prepare() -> User:
    """Returns the local user."""
    from django.core.management import call_command

    call_command("migrate", interactive=False, verbosity=0)
    from webapp.accounts.services import local_user

    user = local_user()
    load_examples()
    load_suites()
    queue_starter(user)
    return user


def load_examples() -> None:
    from webapp.environments.examples import load_examples as load

    load()


def load_suites() -> None:
    from webapp.suites.catalogue import load_shipped

    load_shipped()


def queue_starter(user: User) -> None:
    """Only if there is no run yet."""
    from engine.config import read_config
    from webapp.environments.models import EnvironmentVersion
    from webapp.runs.models import Run
    from webapp.runs.services import submit_run

    if Run.objects.exists() or not STARTER.exists():
        return
    config = read_config(STARTER)
    example = EnvironmentVersion.objects.filter(definition__name=config.environments[0].tag).first()
    submit_run(owner=user, config=config, name="Starter run", environment_version=example)


def main(arguments: list[str]) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    django.setup()
    user = prepare()
    if "--link" in arguments:
        from webapp.accounts.services import new_link

        sys.stdout.write(f"{new_link(user)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
