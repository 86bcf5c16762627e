"""The process that `symbolic` starts: reads a pair of formulas per line, writes whether they are equal.

It imports nothing of this repository, and limits its own memory.
"""

from __future__ import annotations

import json
import resource
import sys


def main() -> None:
    limit = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    from math_verify import parse, verify

    def values(text: str) -> list[object]:
        # LaTeX is only read inside $...$, plain expressions only outside
        return [value for form in (f"${text}$", text) for value in parse(form, parsing_timeout=None)]

    print("ready", flush=True)  # noqa: T201
    for line in sys.stdin:
        given, expected = json.loads(line)
        try:
            equal = bool(verify(values(expected), values(given), timeout_seconds=None))
        except Exception:  # SymPy raises anything on strange formulas
            equal = False
        print("true" if equal else "false", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
