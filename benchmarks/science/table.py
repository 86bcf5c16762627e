"""An experiment's results as a Markdown table: each arm's held-out success over its seeds, with a t interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.statistics.runs import mean_over_runs

COLUMNS = ("arm", "seeds", "held out before", "held out after", "95% over seeds", "collapsed")
HEADER = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"


def table(results: Sequence[dict[str, Any]]) -> str:
    """Arms in the order of their first result. One environment an arm, or the mean over its environments."""
    arms = list(dict.fromkeys(result["arm"] for result in results))
    return "\n".join([HEADER, *(row(arm, [result for result in results if result["arm"] == arm]) for arm in arms)])


def row(arm: str, results: Sequence[dict[str, Any]]) -> str:
    before = [success(result, final=False) for result in results]
    after = [success(result, final=True) for result in results]
    spread = mean_over_runs(after)
    interval = f"[{max(0.0, spread[1]):.3f}, {min(1.0, spread[2]):.3f}]" if spread else "one seed"
    collapsed = sum(result["collapsed_at"] is not None for result in results)
    return (
        f"| {arm} | {len(results)} | {mean(before):.3f} | {mean(after):.3f} | {interval} "
        f"| {collapsed} of {len(results)} |"
    )


def success(result: dict[str, Any], *, final: bool) -> float:
    """Share solved at the end, or before the first step."""
    wanted = [one for one in result["evaluations"] if (one["final"] if final else one["step"] == 0)]
    return sum(one["successes"] for one in wanted) / sum(one["episodes"] for one in wanted)


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
