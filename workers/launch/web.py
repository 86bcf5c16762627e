"""`python -m workers.launch.web`: the ASGI server, with limits and few log lines."""

from __future__ import annotations

import importlib
import os
import resource
import sys
from pathlib import Path

import django
import uvicorn

from engine.quick_imports import quick_imports
from workers.launch.connections import LimitedConnection
from workers.launch.sockets import LimitedSocket
from workers.stacks import write_stacks_on_signal

LARGEST_SOCKET_MESSAGE = 64 * 1024
SHUTDOWN_SECONDS = 5


def main() -> int:
    write_stacks_on_signal()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    # numpy's products are small here, and on a busy machine threads that wait for each other take twenty times as long
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured

    try:
        with quick_imports():
            django.setup()
            importlib.import_module("webapp.asgi")
        from webapp.published_static import publish_static
        from webapp.security.exposure import refuse_careless_exposure
        from webapp.security.private_files import keep_private

        refuse_careless_exposure()
        keep_private(Path(settings.STARBOARD_DATA_DIR))
        if not settings.DEBUG:
            publish_static()
    except ImproperlyConfigured as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    allow_many_connections()
    uvicorn.run(
        "webapp.asgi:application",
        host=settings.STARBOARD_BIND.strip("[]"),
        port=settings.PORT,
        http=LimitedConnection,
        ws=LimitedSocket,
        ws_max_size=LARGEST_SOCKET_MESSAGE,
        ws_per_message_deflate=False,  # small messages to many pages: compression costs more than it saves
        proxy_headers=False,  # anyone can set them
        server_header=False,
        log_config=None,  # Django's, which may be JSON
        access_log=False,  # it would record the tokens of sign-in links
        log_level="warning",
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    return 0


def allow_many_connections() -> None:
    """Each is an open file, and the usual limit of 1,024 is below what one process can serve."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    sys.exit(main())
