"""`python -m workers.launch.in_container`: a worker that, when it ends, ends its engines with a checkpoint each.

All processes of a container end with its first one, so engines cannot outlive their worker there. When the container
is stopped or replaced, the worker ends, then the engines are suspended, and their runs continue with the next worker.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from workers.launch.children import end_with_parent
from workers.stacks import STACKS

ROOT = Path(__file__).resolve().parents[2]
WORKER_SECONDS = 10.0
ENGINE_SECONDS = 600  # a large model takes a while to save; compose.yml grants a container a little more


def main(arguments: list[str]) -> int:
    """Returns the worker's exit status."""
    command = [sys.executable, "-m", "workers", *arguments]
    worker = subprocess.Popen(command, cwd=ROOT, start_new_session=True, preexec_fn=end_with_parent)

    def stop(number: int, frame: object) -> None:
        worker.terminate()
        signal.setitimer(signal.ITIMER_REAL, WORKER_SECONDS)

    signal.signal(STACKS, lambda number, frame: worker.send_signal(STACKS))
    signal.signal(signal.SIGALRM, lambda number, frame: worker.kill())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    status = worker.wait()
    signal.setitimer(signal.ITIMER_REAL, 0)
    suspend = [sys.executable, "manage.py", "suspend_runs", "--seconds", str(ENGINE_SECONDS)]
    subprocess.run(suspend, cwd=ROOT, check=False, start_new_session=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
