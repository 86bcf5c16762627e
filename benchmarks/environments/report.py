"""The tables of `docs/environments/speed.md`, each after a line `<!-- NAME -->`."""

from __future__ import annotations

from itertools import dropwhile
from pathlib import Path
from typing import Any


def write_tables(document: Path, result: dict[str, Any]) -> None:
    document.write_text(filled(document.read_text(encoding="utf-8"), tables(result)), encoding="utf-8")


def write_pools(document: Path, result: dict[str, Any]) -> None:
    document.write_text(filled(document.read_text(encoding="utf-8"), {"pools": pools_table(result)}), encoding="utf-8")


def pools_table(result: dict[str, Any]) -> str:
    measured = {name: ways for name, ways in result.items() if isinstance(ways, dict)}
    return _table(
        ("Environment", "Way", "seconds", "of processor time", "times as fast as in turn"),
        [
            (name, way, f"{found['seconds']:.2f}", f"{found['processor_seconds']:.2f}", f"{found['ratio']:.2g}")
            for name, ways in measured.items()
            for way, found in ways.items()
        ],
    )


def filled(text: str, found: dict[str, str]) -> str:
    """`text` with the table after each `<!-- NAME -->` replaced."""
    for name, rows in found.items():
        before, mark, after = text.partition(f"<!-- {name} -->\n")
        if mark:
            rest = dropwhile(lambda line: line.startswith(("|", "\n")), after.splitlines(keepends=True))
            text = f"{before}{mark}\n{rows}\n\n{''.join(rest)}"
    return text


def tables(result: dict[str, Any]) -> dict[str, str]:
    return {
        "examples": _table(
            ("Kind", "steps/s", "resets/s", "steps/s with resets"),
            [
                (f"`{kind}`", *(number(rates[rate]) for rate in ("steps", "resets", "with_resets")))
                for kind, rates in result["examples"].items()
            ],
        ),
        "steps": _table(
            ("Work", "Compared with", "steps/s", "ratio of steps", "of resets", "of both", "What one side does more"),
            [
                (
                    pair["name"],
                    pair["library"],
                    f"{number(pair['steps']['ours'])} and {number(pair['steps']['theirs'])}",
                    ratio(pair["steps"]),
                    ratio(pair["resets"]),
                    ratio(pair["with_resets"]),
                    pair["more"],
                )
                for pair in result["steps"]
            ],
        ),
        "problems": _table(
            ("Problems", "Compared with", "per second", "ratio", "What one side does more"),
            [
                (
                    pair["name"],
                    pair["library"],
                    f"{number(pair['problems']['ours'])} and {number(pair['problems']['theirs'])}",
                    ratio(pair["problems"]),
                    pair["more"],
                )
                for pair in result["problems"]
            ],
        ),
    }


def ratio(rate: dict[str, float]) -> str:
    """`3.1 (2.8 to 3.4)`."""
    return f"{short(rate['ratio'])} ({short(rate['lowest'])} to {short(rate['highest'])})"


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines)
