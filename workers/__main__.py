"""`python -m workers`: a worker with the options that fit it. The same as `celery -A workers.app worker` with them."""

from __future__ import annotations

import sys

from workers.app import app

# Workers of one installation coordinate through rows and leases, not through each other.
OPTIONS = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "INFO"]

if __name__ == "__main__":
    app.worker_main(["worker", *OPTIONS, *sys.argv[1:]])
