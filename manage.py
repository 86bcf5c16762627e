#!/usr/bin/env python
"""Django's command line for Starboard: `python manage.py migrate`, `sign_in_link`, `createsuperuser`, …"""

from __future__ import annotations

import atexit
import gc
import os
import sys


def main() -> None:
    gc.set_threshold(100_000)  # what is imported is no garbage
    atexit.register(gc.freeze)  # and Python would take half a second to collect it at exit
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
