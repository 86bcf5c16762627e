"""An experiment's results as a Markdown table: each arm's held-out success over its seeds, with a t interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.statistics.means import t_interval, without_interval

COLUMNS = ("arm", "seeds", "initial held-out success", "final held-out success", "95% CI over seeds", "collapsed")
HEADER = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"


def table(results: Sequence[dict[str, Any]]) -> str:
    """Arms in the order of their first result. One environment an arm, or the mean over its environments."""
    arms = list(dict.fromkeys(result["arm"] for result in results))
    return "\n".join([HEADER, *(row(arm, [result for result in results if result["arm"] == arm]) for arm in arms)])


def means_table(results: Sequence[dict[str, Any]]) -> str:
    """Means over a run's steps, as mean over seeds with a t interval: a row a metric, a column an arm."""
    arms = list(dict.fromkeys(result["arm"] for result in results))
    names = list(results[0]["means"]) if results else []
    lines = [f"| mean over steps | {' | '.join(arms)} |", f"{'|---' * (len(arms) + 1)}|"]
    for name in names:
        cells = [interval_text([result["means"][name] for result in results if result["arm"] == arm]) for arm in arms]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) if names else ""


def interval_text(values: Sequence[float]) -> str:
    """The mean with its 95% t interval, if there is one."""
    interval = t_interval(values)
    if interval:
        return f"{mean(values):.3g} [{interval.low:.3g}, {interval.high:.3g}]"
    return f"{mean(values):.3g} ({without_interval(len(values), 'seed')})" if len(values) > 1 else f"{mean(values):.3g}"


def row(arm: str, results: Sequence[dict[str, Any]]) -> str:
    before = [success(result, final=False) for result in results]
    after = [success(result, final=True) for result in results]
    interval = t_interval(after)
    ends = without_interval(len(after), "seed")
    if interval:
        ends = f"[{max(0.0, interval.low):.3f}, {min(1.0, interval.high):.3f}]"
    collapsed = sum(result["collapsed_at"] is not None for result in results)
    return (
        f"| {arm} | {len(results)} | {mean(before):.3f} | {mean(after):.3f} | {ends} | {collapsed} of {len(results)} |"
    )


def success(result: dict[str, Any], *, final: bool) -> float:
    """Held-out success after the last step (`final`), or before the first."""
    wanted = [one for one in result["evaluations"] if (one["final"] if final else one["step"] == 0)]
    solved: int = sum(one["successes"] for one in wanted)
    episodes: int = sum(one["episodes"] for one in wanted)
    return solved / episodes


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
