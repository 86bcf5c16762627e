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

from tests import warm_python
from tests.warm_python import REPOSITORY, Process


class Questions:
    """`code` is the root of the repository whose packages are imported."""

    def __init__(self, code: Path, environment: dict[str, str]) -> None:
        self.code = code
        environment = {**environment, "PYTHONPATH": str(code)}
        asked, questions = os.pipe()
        answers, answered = os.pipe()
        self._questions, self._answers = os.fdopen(questions, "w"), os.fdopen(answers)
        with os.fdopen(asked, "rb") as stdin, os.fdopen(answered, "wb") as stdout:
            self._process: Process
            if code == REPOSITORY:
                self._process = warm_python.start([__file__], env=environment, stdin=stdin, stdout=stdout)
            else:
                self._process = subprocess.Popen(
                    [sys.executable, __file__], cwd=code, env=environment, stdin=stdin, stdout=stdout
                )

    def ask(self, question: str) -> str:
        """What `question` prints; an `AssertionError` with the stack trace if it raises."""
        self._questions.write(json.dumps(question) + "\n")
        self._questions.flush()
        line = self._answers.readline()
        assert line, "the process has ended; see its error output"
        printed, error = json.loads(line)
        assert not error, error
        return str(printed).strip()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._questions.close()
        self._answers.close()


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
