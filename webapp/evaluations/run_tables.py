"""The tables of runs' own final evaluations, for `evaluations/leaderboard.html`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webapp.evaluations.endings import add_endings
from webapp.evaluations.leaderboard import add_run_facts, tables

MOST_ROWS = 1000
OF_EACH = 50  # rows, where several tables are shown


def run_tables(query: Mapping[str, str]) -> dict[str, Any]:
    """One table for each environment, or only that of the `environment` in `query`."""
    found = tables()
    chosen = query.get("environment", "")
    shown = [table for table in found if table.anchor == chosen] or found
    everything = query.get("rows") == str(MOST_ROWS)
    for table in shown:
        table.most_rows = MOST_ROWS if everything else OF_EACH if len(shown) > 1 else table.most_rows
    add_run_facts(shown)
    add_endings(shown)
    return {"tables": shown, "all_tables": found, "chosen": chosen, "everything": everything}
