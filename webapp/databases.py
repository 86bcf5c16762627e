"""The database settings: `DATABASE_URL`, or SQLite in the data directory, tuned for several processes."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import dj_database_url

# WAL lets readers read while one writes. IMMEDIATE takes the write lock at BEGIN, so a busy database waits instead of
# failing in the middle of a transaction. Only the workers' housekeeping empties the write-ahead log, because several
# processes that do can corrupt it before SQLite 3.51.3.
SQLITE_OPTIONS: dict[str, Any] = {
    "timeout": 20,
    "transaction_mode": "IMMEDIATE",
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0;",
}

# A process that is suspended within a transaction would otherwise hold its rows' locks until it continues: the server
# rolls back what has been idle for half of a lease, and nobody waits longer for a lock than on SQLite.
POSTGRESQL_OPTIONS = "-c idle_in_transaction_session_timeout=15s -c lock_timeout=20s"

POOL_SECONDS = 5  # that a thread waits for a connection
# After an outage the pool would wait as long again as it has tried, up to five minutes. What gives up is begun again
# by whoever asks next.
RECONNECT_SECONDS = 2


def database(url: str, data_dir: Path, pool: int = 0) -> dict[str, Any]:
    """Django's settings for one database, of PostgreSQL with at most `pool` connections of each process.

    Tests get a file of their own: an in-memory database has other locks.
    """
    settings: dict[str, Any] = dict(dj_database_url.parse(url or f"sqlite:///{data_dir / 'starboard.sqlite3'}"))
    if settings["ENGINE"] == "django.db.backends.sqlite3":
        settings["OPTIONS"] = {**SQLITE_OPTIONS, **settings.get("OPTIONS", {})}
        settings["TEST"] = {"NAME": str(Path(tempfile.gettempdir()) / f"starboard-test-{os.getpid()}.sqlite3")}
    else:
        settings["CONN_HEALTH_CHECKS"] = True
        given = settings.get("OPTIONS", {})
        settings["OPTIONS"] = {**given, "options": f"{POSTGRESQL_OPTIONS} {given.get('options', '')}".rstrip()}
        if pool:
            limits = {"min_size": 1, "max_size": pool, "timeout": POOL_SECONDS, "reconnect_timeout": RECONNECT_SECONDS}
            settings["OPTIONS"] = {**settings["OPTIONS"], "pool": limits}
    return settings
