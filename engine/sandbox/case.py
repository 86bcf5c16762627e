"""Runs untrusted code for one case, in the process that may run it. Part of the program inside a sandbox.

`run_one` is the whole program where there are no processes, as in WebAssembly.
"""

import atexit
import builtins
import json
import os
import sys
import threading
import types
from typing import Any

KEPT_ERROR = 2000  # characters
# What solutions of programming contests are used to finding imported.
PRELUDE = """
from typing import *
import bisect, collections, copy, functools, heapq, itertools, json, math, operator, random, re, string, sys
from bisect import bisect_left, bisect_right, insort
from collections import Counter, OrderedDict, defaultdict, deque
from functools import cache, cmp_to_key, lru_cache, reduce
from heapq import heapify, heappop, heappush, heappushpop
from itertools import accumulate, chain, combinations, groupby, permutations, product
from math import ceil, comb, floor, gcd, inf, isqrt, lcm, log, log2, prod, sqrt
"""


def execute(code: str, case: dict[str, Any]) -> dict[str, Any]:
    """Runs the code for one case; `ended` is finished, not_python, raised or out_of_memory."""
    function = case.get("function")
    # a program runs what it guards with `__name__ == "__main__"`; functions are tested without it
    module = types.ModuleType("answer" if function else "__main__")
    sys.modules[module.__name__] = module
    report: dict[str, Any] = {"ended": "finished", "error": "", "value": None}
    try:
        compiled = compile(code, "answer.py", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # zero bytes, or too deep
        return {"ended": "not_python", "error": _described(error), "value": None}
    try:
        exec(PRELUDE, module.__dict__)  # noqa: S102 - code of this file
        exec(compiled, module.__dict__)  # noqa: S102 - we are in a sandbox
        if function:
            report["value"] = json.dumps(_function(module, function)(*case["arguments"]))
        _leave()
    except SystemExit as error:
        if function or error.code not in (None, 0):
            report |= {"ended": "raised", "error": f"it exited with status {error.code}"}
        _leave()
    except MemoryError:
        return {"ended": "out_of_memory", "error": "MemoryError", "value": None}
    except BaseException as error:  # all of it is the code's doing
        report = {"ended": "raised", "error": _described(error), "value": None}
        _flush()
    return report


def _function(module: types.ModuleType, name: str) -> Any:
    solution = getattr(module, "Solution", None)
    if solution is not None and hasattr(solution, name):
        return getattr(solution(), name)
    if not hasattr(module, name):
        raise NameError(f"the code defines no function {name!r}")
    return getattr(module, name)


def _described(error: BaseException) -> str:
    """The exception and the line of the code it came from."""
    line, frame = 0, error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == "answer.py":
            line = frame.tb_lineno
        frame = frame.tb_next
    try:
        text = f"{type(error).__name__}: {error}"
    except BaseException:  # its own __str__ raised
        text = type(error).__name__
    return f"{text[:KEPT_ERROR]} (line {line})" if line else text[:KEPT_ERROR]


def _leave() -> None:
    """What the interpreter does at its end. Programs use threads for deep recursion, and print in exit handlers."""
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    _flush()


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BaseException:  # the code may have replaced or closed it
        return


def run_one() -> None:
    """Reads the code and the case from the arguments and writes the report to stderr, behind a line of its own."""
    builtins.exit = builtins.quit = sys.exit  # type: ignore[assignment]
    asked = json.loads(sys.argv[1])
    report = execute(asked["code"], asked["case"])
    _flush()
    sys.stderr.write(f"\n{asked['mark']}\n{json.dumps(report)}")
    sys.stderr.flush()
    os._exit(0)
