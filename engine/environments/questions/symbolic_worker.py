"""The process that `symbolic` starts: reads a pair of formulas per line, writes whether they are equal.

It imports nothing of this repository, limits its own memory, and kills itself when a pair takes too long, so that it
never outlives the process that asked.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from importlib import import_module
from typing import Any


def main() -> None:
    memory, seconds = (int(argument) for argument in sys.argv[1:])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    library: Any = import_module("math_verify")

    only_latex = [library.LatexExtractionConfig()]  # the other reader takes the 2 of "2x+1"

    def values(text: str) -> list[object]:
        plain = text.replace("$", "")
        found: list[object] = library.parse(f"${plain}$", extraction_config=only_latex, parsing_timeout=None)
        return found

    print("ready", flush=True)  # noqa: T201
    for line in sys.stdin:
        given, expected = json.loads(line)
        signal.alarm(seconds)
        try:
            equal = bool(library.verify(values(expected), values(given), timeout_seconds=None))
        except Exception:  # SymPy raises anything on strange formulas
            equal = False
        signal.alarm(0)
        print("true" if equal else "false", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
