"""A Python process with Django that runs code, and answers with what the code printed. Django takes a second of a
processor to start, so one process answers all questions of a test."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import traceback
from pathlib import Path


class Questions:
    """`code` is the root of the repository whose packages are imported."""

    def __init__(self, code: Path, environment: dict[str, str]) -> None:
        self.code = code
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            cwd=code,
            env={**environment, "PYTHONPATH": str(code)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, question: str) -> str:
        """What `question` prints; an `AssertionError` with the stack trace if it raises."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the process has ended; see its error output"
        printed, error = json.loads(line)
        assert not error, error
        return str(printed).strip()

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def answer(question: str) -> tuple[str, str]:
    """What it printed, and the stack trace of what it raised."""
    from django.db import connections

    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(question, {})
    except Exception:
        return printed.getvalue(), traceback.format_exc()
    finally:
        connections.close_all()  # between questions servers are restarted, and files replaced
    return printed.getvalue(), ""


def main() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    django.setup()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
