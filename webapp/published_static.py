"""Static files ready for a network: copied once per version, each with a gzip file if that is smaller."""

from __future__ import annotations

import shutil
from pathlib import Path

from django.conf import settings
from django.core.management import call_command

COMPLETE = ".complete"


def publish_static() -> Path:
    """Collects the static files into `STATIC_ROOT`, unless that has been done, and has the site serve them from there.

    Older versions are removed.
    """
    folder = Path(settings.STATIC_ROOT)
    if not (folder / COMPLETE).exists():
        shutil.rmtree(folder.parent, ignore_errors=True)
        call_command("collectstatic", interactive=False, verbosity=0)
        (folder / COMPLETE).touch()
    settings.SERVESTATIC_USE_FINDERS = False
    return folder
