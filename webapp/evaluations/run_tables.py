"""The tables of runs' own final evaluations, for `evaluations/leaderboard.html`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webapp.evaluations.leaderboard import show_rows, tables

MOST_ROWS = 1000
OF_ONE, OF_EACH = 100, 50  # rows, where one table is shown or several


def run_tables(query: Mapping[str, str]) -> dict[str, Any]:
    """One table for each environment, or only that of the `environment` in `query`."""
    found = tables()
    chosen = query.get("environment", "")
    shown = [table for table in found if table.anchor == chosen] or found
    everything = query.get("rows") == str(MOST_ROWS)
    show_rows(shown, MOST_ROWS if everything else OF_EACH if len(shown) > 1 else OF_ONE)
    return {"tables": shown, "all_tables": found, "chosen": chosen, "everything": everything}
