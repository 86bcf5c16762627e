"""What recording costs a training loop, and how fast values arrive: our client beside those of trackio, MLflow and Aim.

Each client logs 400 steps of 20 values to a server of its own on this machine, over loopback, from a loop that computes
for about five milliseconds a step, so that threads of the client compete with it as in training. For each: the
microseconds that `log()` takes (median, 99th percentile), what the loop loses by it (its time with recording over its
time without, minus one), and values a second from the first `log()` until the client says that all of it has been sent.
The rivals run in `.venv-trackers`; all take turns, `--rounds` times, each in a process of its own.

    make setup-trackers
    python -m benchmarks.recording [--rounds N]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TRACKERS_PYTHON = ROOT / ".venv-trackers" / "bin" / "python"
STEPS, VALUES = 400, 20
WORK = 5e-3  # seconds of a step
START_SECONDS = 60.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="times that each is measured, in turn")
    parser.add_argument("--trackers-python", default=str(TRACKERS_PYTHON), help="the interpreter that has the rivals")
    parser.add_argument("--client", choices=CLIENTS, help="measure one client in this process")
    parser.add_argument("--address", default="", help="of its server")
    options = parser.parse_args()
    if options.client:
        sys.stdout.write(json.dumps(measured(options.client, options.address)) + "\n")
        return 0
    python = options.trackers_python if Path(options.trackers_python).exists() else sys.executable
    rivals = [name for name in CLIENTS if name != "starboard"] if python != sys.executable else []
    if not rivals:
        sys.stdout.write("Only our own client: there is no .venv-trackers (make setup-trackers).\n")
    found: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        addresses = {
            name: stack.enter_context(SERVERS[name](Path(scratch) / name, python)) for name in ("starboard", *rivals)
        }
        for _ in range(options.rounds):
            for name, address in addresses.items():
                interpreter = sys.executable if name == "starboard" else python
                found.setdefault(name, []).append(in_a_process(interpreter, name, address, Path(scratch)))
    result = {
        name: {key: statistics.median(one[key] for one in each) for key in each[0]} for name, each in found.items()
    }
    shown = {
        name: {key: round(value, 4 if key == "loss" else 1) for key, value in of.items()} for name, of in result.items()
    }
    sys.stdout.write(json.dumps({"benchmark": "recording", "steps": STEPS, "values": VALUES, **shown}) + "\n")
    return 0


def in_a_process(python: str, name: str, address: str, scratch: Path) -> dict[str, float]:
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'client'}:{ROOT}",
        "STARBOARD_SPOOL": str(scratch / "spool"),
        "TRACKIO_DIR": str(scratch / "trackio-client"),
        "OMP_NUM_THREADS": "1",
    }
    command = [python, "-m", "benchmarks.recording", "--client", name, "--address", address]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=600, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-3000:]}")
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


# --- one client, in a process of its own ---


def measured(name: str, address: str) -> dict[str, float]:
    count = loops_of(WORK)
    alone = min(loop(count, lambda step: None)[0] for _ in range(2))
    log, finish = CLIENTS[name](address)
    log(0)  # what the first call sets up is no cost of a step
    began = time.perf_counter()
    with_log, calls = loop(count, log)
    finish()
    seconds = time.perf_counter() - began
    calls.sort()
    return {
        "log_us": 1e6 * statistics.median(calls),
        "log_p99_us": 1e6 * calls[int(0.99 * len(calls))],
        "loss": with_log / alone - 1,
        "values_per_second": STEPS * VALUES / seconds,
        "unpaced_values_per_second": unpaced(name, address),
    }


def loop(count: int, log: Callable[[int], None]) -> tuple[float, list[float]]:
    """Seconds of all steps, and of each call."""
    calls = []
    began = time.perf_counter()
    for step in range(1, STEPS + 1):
        work(count)
        at = time.perf_counter()
        log(step)
        calls.append(time.perf_counter() - at)
    return time.perf_counter() - began, calls


def unpaced(name: str, address: str) -> float:
    """Values a second if nothing else is done between the calls, until all of it has been sent."""
    log, finish = CLIENTS[name](address)
    log(0)
    began = time.perf_counter()
    for step in range(1, STEPS + 1):
        log(step)
    finish()
    return STEPS * VALUES / (time.perf_counter() - began)


def work(count: int) -> float:
    """Pure Python, which holds the interpreter's lock as a training loop between its kernels does."""
    total = 0.0
    for number in range(count):
        total += number * 0.5
    return total


def loops_of(seconds: float) -> int:
    count = 10_000
    began = time.perf_counter()
    work(count)
    return max(1, int(count * seconds / (time.perf_counter() - began)))


def values_of(step: int) -> dict[str, float]:
    return {f"bench/metric_{number}": step / (number + 1) for number in range(VALUES)}


Client = tuple[Callable[[int], None], Callable[[], Any]]


def starboard_client(address: str) -> Client:
    from starboard_client import Recorder, Starboard

    url, _, token = address.partition("#")
    recorder = Recorder("bench", starboard=Starboard(url, token))
    return lambda step: recorder.log(values_of(step), step), recorder.finish


def trackio_client(address: str) -> Client:
    import trackio

    trackio.init(project="bench", server_url=address)
    return lambda step: trackio.log(values_of(step), step=step), trackio.finish


def mlflow_client(address: str) -> Client:
    """Its asynchronous logging: the synchronous one waits for the server at each step."""
    import mlflow

    mlflow.set_tracking_uri(address)
    mlflow.set_experiment("bench")
    mlflow.start_run()

    def finish() -> None:
        mlflow.flush_async_logging()
        mlflow.end_run()

    return lambda step: mlflow.log_metrics(values_of(step), step=step, synchronous=False), finish


def aim_client(address: str) -> Client:
    import aim

    run = aim.Run(repo=address, system_tracking_interval=None, capture_terminal_logs=False, log_system_params=False)

    def finish() -> None:
        run.close()

    return lambda step: run.track(values_of(step), step=step), finish


CLIENTS: dict[str, Callable[[str], Client]] = {
    "starboard": starboard_client,
    "trackio": trackio_client,
    "mlflow": mlflow_client,
    "aim": aim_client,
}


# --- their servers ---


@contextlib.contextmanager
def starboard_server(folder: Path, python: str) -> Iterator[str]:
    """The site, and a token of a user; no worker, since arrival is what is measured."""
    folder.mkdir()
    port = free_port()
    environment = {
        **os.environ,
        "STARBOARD_DATA_DIR": str(folder),
        "PORT": str(port),
        "STARBOARD_API_INGESTS_PER_MINUTE": "100000",
    }
    code = (
        "import django; django.setup()\n"
        "from datetime import timedelta\n"
        "from django.contrib.auth.models import User\n"
        "from django.core.management import call_command\n"
        "from webapp.accounts.models import Scope\n"
        "from webapp.accounts.tokens import new_token\n"
        "call_command('migrate', verbosity=0)\n"
        "user = User.objects.create_user('bench')\n"
        "print(new_token(user, name='bench', scopes=list(Scope), lifetime=timedelta(days=1)))\n"
    )
    environment["DJANGO_SETTINGS_MODULE"] = "webapp.settings"
    made = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=ROOT, check=True
    )
    command = [
        sys.executable,
        "-m",
        "uvicorn",
        "webapp.asgi:application",
        "--port",
        str(port),
        "--log-level",
        "warning",
    ]
    with serving(command, f"http://127.0.0.1:{port}/", environment=environment):
        yield f"http://127.0.0.1:{port}#{made.stdout.strip()}"


@contextlib.contextmanager
def trackio_server(folder: Path, python: str) -> Iterator[str]:
    folder.mkdir()
    port = free_port()
    code = (
        "import trackio, time\n"
        f"shown = trackio.show(project='bench', open_browser=False, block_thread=False, server_port={port})\n"
        "print([one for one in shown if isinstance(one, str)][-1] if isinstance(shown, tuple) else '', flush=True)\n"
        "time.sleep(100000)\n"
    )
    environment = {**os.environ, "TRACKIO_DIR": str(folder)}
    raise NotImplementedError(code, environment)
    yield ""


@contextlib.contextmanager
def mlflow_server(folder: Path, python: str) -> Iterator[str]:
    folder.mkdir()
    port = free_port()
    command = [python, "-m", "mlflow", "server", "--backend-store-uri", f"sqlite:///{folder / 'mlflow.db'}"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    with serving(command, f"http://127.0.0.1:{port}/health", folder=folder):
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def aim_server(folder: Path, python: str) -> Iterator[str]:
    folder.mkdir()
    port = free_port()
    aim = str(Path(python).parent / "aim")
    subprocess.run([aim, "init", "--repo", str(folder), "--yes"], capture_output=True, check=True)
    with serving(
        [aim, "server", "--repo", str(folder), "--port", str(port)], f"http://127.0.0.1:{port}/", folder=folder
    ):
        yield f"aim://127.0.0.1:{port}"


SERVERS: dict[str, Callable[[Path, str], contextlib.AbstractContextManager[str]]] = {
    "starboard": starboard_server,
    "trackio": trackio_server,
    "mlflow": mlflow_server,
    "aim": aim_server,
}


@contextlib.contextmanager
def serving(
    command: list[str], address: str, *, folder: Path | None = None, environment: dict[str, str] | None = None
) -> Iterator[None]:
    """A server in a session of its own, once it answers."""
    server = subprocess.Popen(
        command,
        cwd=folder or ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_for(address)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)


def wait_for(address: str) -> None:
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            urllib.request.urlopen(address, timeout=2).close()
            return
        except urllib.error.HTTPError:
            return  # it answers
        except OSError:
            if time.monotonic() > until:
                raise SystemExit(f"{address} does not answer.") from None
            time.sleep(0.2)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
