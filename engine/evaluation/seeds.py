"""The problem seeds of an evaluation: a file of seeds, or `first:count`."""

from __future__ import annotations

import re
from pathlib import Path

from engine.errors import ConfigError

LARGEST_SEED = 2**53  # the integers that every JSON reader represents exactly
MOST_SEEDS = 1_000_000
_RANGE = re.compile(r"(\d+):(\d+)")


def read_seeds(text: str) -> list[int]:
    """`1000000000:256`, or a file with one seed per line; blank lines and comments after # are ignored."""
    if found := _RANGE.fullmatch(text):
        return seed_range(int(found[1]), int(found[2]))
    path = Path(text)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise ConfigError(
            f"--seeds {text}: no such file.", remedy="Give a file with one seed per line, or first:count."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"--seeds {text}: the file cannot be read as text ({type(error).__name__}).", remedy="Give a text file."
        ) from None
    line_of: dict[int, int] = {}
    for number, line in enumerate(lines, start=1):
        if words := line.partition("#")[0].strip():
            seed = _seed(words, where=f"--seeds {text}, line {number}")
            if seed in line_of:
                raise ConfigError(
                    f"--seeds {text}, line {number}: seed {seed} is on line {line_of[seed]} already.",
                    remedy="List each seed once; use --samples to play a problem several times.",
                )
            line_of[seed] = number
    return _counted(list(line_of), where=f"--seeds {text}")


def seed_range(first: int, count: int) -> list[int]:
    where = f"--seeds {first}:{count}"
    if count > MOST_SEEDS or first + count > LARGEST_SEED:
        raise ConfigError(
            f"{where} is too large.", remedy=f"Give at most {MOST_SEEDS:,} seeds, all below {LARGEST_SEED}."
        )
    return _counted(list(range(first, first + count)), where=where)


def _seed(words: str, *, where: str) -> int:
    if not re.fullmatch(r"[0-9]{1,16}", words) or int(words) >= LARGEST_SEED:
        raise ConfigError(
            f"{where}: {words[:40]!r} is not a seed.", remedy=f"Write integers from 0 to {LARGEST_SEED - 1}."
        )
    return int(words)


def _counted(seeds: list[int], *, where: str) -> list[int]:
    if not seeds:
        raise ConfigError(f"{where} has no seeds.", remedy="Give one or more.")
    if len(seeds) > MOST_SEEDS:
        raise ConfigError(f"{where} has {len(seeds):,} seeds.", remedy=f"Give at most {MOST_SEEDS:,}.")
    return seeds
