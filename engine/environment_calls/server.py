"""`python -m engine environment-calls`: answers calls on stdin, one JSON line each, with one JSON line on stdout.

What an environment prints goes to stderr. The process ends with its parent, even while an environment hangs.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import threading
import time
from typing import Any, TextIO

from engine.errors import StarboardError

LARGEST_ANSWER = 16 << 20  # characters


def serve_main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m engine environment-calls", description=__doc__)
    parser.add_argument("--memory-mib", type=int, default=4096, help="most memory, in MiB; 0 for no limit")
    parser.add_argument("--nice", type=int, default=0, help="added to the niceness of the process")
    options = parser.parse_args(argv)
    os.nice(options.nice)
    answers = _take_stdout()
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()

    from engine.environment_calls.calls import answer

    if options.memory_mib:
        # of data rather than of addresses, which sandboxes reserve by the gigabyte and never touch
        resource.setrlimit(resource.RLIMIT_DATA, (options.memory_mib << 20, options.memory_mib << 20))
    for line in sys.stdin:
        answers.write(_answered(answer, line) + "\n")
        answers.flush()
    return 0


def _take_stdout() -> TextIO:
    """Stdout for answers alone: prints go to stderr instead."""
    kept = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return kept


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _answered(answer: Any, line: str) -> str:
    request = json.loads(line)
    try:
        text = json.dumps({"result": answer(request["call"], request["config"], request["arguments"])}, allow_nan=False)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # an environment may raise anything, SystemExit too
        text = json.dumps({"error": described(error)})
    if len(text) > LARGEST_ANSWER:
        text = json.dumps({"error": f"Its answer has {len(text):,} characters; at most {LARGEST_ANSWER:,} are sent."})
    return text


def described(error: BaseException) -> str:
    """For users; faults and errors of configurations say whose they are already."""
    stated = isinstance(error, StarboardError)
    return (str(error) if stated else f"The environment raised {type(error).__name__}: {error}")[:2000]
