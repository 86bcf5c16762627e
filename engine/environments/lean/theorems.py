"""Theorems of our own, without Mathlib, with a proof of each, and those of miniF2F-like files.

The proofs were written without a Lean toolchain at hand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from engine.environments.loading import loaded_once
from engine.environments.questions.files import read_table, version
from engine.errors import ConfigError

MOST_ROWS = 100_000
DECLARATION = re.compile(r"^\s*(?:theorem|lemma)\s+([^\s({\[:]+)", re.MULTILINE)
# of files that name no imports; RAGEN's
DEFAULT_HEADER = """import Mathlib
import Aesop
set_option maxHeartbeats 0
open BigOperators Real Nat Topology Rat"""
INFORMAL = ("natural_language_statement", "nl_statement", "informal_prefix", "informal_statement")


@dataclass(frozen=True, slots=True, kw_only=True)
class Theorem:
    """`statement` ends in `:= by`; `proof` is a list of tactics where one is known."""

    name: str
    statement: str
    header: str = ""
    informal: str = ""
    proof: tuple[str, ...] = ()
    held_out: bool = False


def theorem_of(row: dict[str, Any], source: str) -> Theorem:
    """The theorem of a row; `ConfigError` where it has no statement that can be completed by a proof."""
    statement = str(row.get("formal_statement") or "").strip().removesuffix("sorry").rstrip()
    if statement.endswith(":="):
        statement += " by"
    names = DECLARATION.findall(statement)
    if not names or not statement.endswith("by"):
        raise ConfigError(
            f"{source} has no theorem to prove: {statement[:80]!r}",
            remedy="Give a formal_statement that names its theorem and ends in := by or sorry.",
        )
    informal = next((str(row[key]) for key in INFORMAL if row.get(key)), "")
    return Theorem(
        name=names[-1],
        statement=statement,
        header=_header(row),
        informal=informal.strip().removeprefix("/--").removesuffix("-/").strip(),
        held_out=str(row.get("split", "")) == "test",
    )


def _header(row: dict[str, Any]) -> str:
    parts = [row.get("header") or row.get("imports"), row.get("preamble")]
    lines = ["\n".join(part) if isinstance(part, list) else str(part) for part in parts if part]
    return "\n".join(line.strip() for line in lines) or DEFAULT_HEADER


@loaded_once(4)
def _read(key: tuple[str, int, int]) -> tuple[Theorem, ...]:
    path = key[0]
    rows = read_table(path, MOST_ROWS)
    if not rows:
        raise ConfigError(f"{path} has no theorems.", remedy="Give a file with rows that have a formal_statement.")
    return tuple(theorem_of(row, f"row {index} of {path}") for index, row in enumerate(rows))


def theorems_of(path: str) -> tuple[Theorem, ...]:
    return _read(version(path))
