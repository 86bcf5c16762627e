"""`python -m workers`: a worker with the options that fit it. The same as `celery -A workers.app worker` with them."""

from __future__ import annotations

import sys
from pathlib import Path

from engine.quick_imports import quick_imports

with quick_imports():
    from django.conf import settings

    from webapp.security.private_files import keep_private
    from workers.app import app
    from workers.stacks import write_stacks_on_signal

    app.loader.import_default_modules()

# Workers of one installation coordinate through rows and leases, not through each other.
OPTIONS = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "INFO"]

if __name__ == "__main__":
    write_stacks_on_signal()
    keep_private(Path(settings.STARBOARD_DATA_DIR))
    quiet = ["--quiet"] if settings.STARBOARD_LOG_FORMAT == "json" else []  # the banner is no JSON
    app.worker_main([*quiet, "worker", *OPTIONS, *sys.argv[1:]])
