"""Runs the code of environments in threads of its own, within time limits.

An environment is someone's code: it may loop forever, or wait for a server that never responds. What exceeds its limit
is interrupted and its thread abandoned, so that whoever waits for it continues. An interrupt ends Python code, but not
a call that blocks outside of Python; such a thread remains until the process ends. Code that keeps the interpreter's
lock, such as a regular expression that backtracks without end, blocks the whole process: it needs another one.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")
POLL_SECONDS = 0.25


class Interrupt(BaseException):
    """Raised in a thread whose work exceeded its limit. No `Exception`, so that handlers of the work let it pass."""


class LimitExceeded(Exception):
    """Work did not return within its limit."""


def call_guarded(
    work: Callable[[], T], deadline: Callable[[], float], *, check_cancelled: Callable[[], None] = lambda: None
) -> T:
    """The result of `work`, which runs in a thread of its own; what it raises is raised here.

    `LimitExceeded` once the time is after `deadline()`, in seconds of `time.monotonic`, which the work may move.
    `check_cancelled` is called four times a second meanwhile, and raises to cancel.
    """
    result: Future[T] = Future()
    thread = threading.Thread(target=_run, args=(work, result), name="environment", daemon=True)
    thread.start()
    try:
        while not wait([result], timeout=min(POLL_SECONDS, max(0.0, deadline() - time.monotonic()))).done:
            if time.monotonic() >= deadline():
                raise LimitExceeded
            check_cancelled()
    except BaseException:
        interrupt(thread)
        raise
    return result.result()


def call_within(seconds: float, work: Callable[[], T], *, check_cancelled: Callable[[], None] = lambda: None) -> T:
    """`call_guarded` with one limit for all of the work."""
    until = time.monotonic() + seconds
    return call_guarded(work, lambda: until, check_cancelled=check_cancelled)


def interrupt(thread: threading.Thread) -> None:
    """Raises `Interrupt` in `thread` as soon as it executes Python code."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Interrupt))


def _run(work: Callable[[], T], result: Future[T]) -> None:
    try:
        try:
            value = work()
        except Interrupt:
            raise
        except BaseException as error:  # whatever the work raised, the caller decides
            result.set_exception(error)
        else:
            result.set_result(value)
    except Interrupt:
        return  # nobody waits for the result any more
