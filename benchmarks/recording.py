"""What recording costs a training loop, and how fast values arrive: our client beside those of trackio, MLflow and Aim.

Each client logs 400 steps of 20 values to a server of its own on this machine, over loopback, from a loop that computes
for five milliseconds a step, so that threads of the client compete with it as in training. For each: the microseconds
that a call takes (median, 99th percentile), what the loop loses by recording, in percent of its time and of the
processor's, and values a second if nothing else is done, until the client says that all of it has been sent. The rivals
have `.venv-trackers`; all take turns, `--rounds` times, each in a process of its own.

    make setup-trackers
    python -m benchmarks.recording [--rounds N] [--postgres]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.databases import add_option, database, prepare_site
from benchmarks.first_load import ROOT, TRACKERS_PYTHON, free_port, process
from benchmarks.recording_clients import STEPS, VALUES

Server = Callable[[str, Path], contextlib.AbstractContextManager[str]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="times that each is measured, in turn")
    parser.add_argument("--trackers-python", default=str(TRACKERS_PYTHON), help="the interpreter that has the rivals")
    parser.add_argument("--only", default="", help="clients, separated by commas; by default all that are there")
    add_option(parser)
    options = parser.parse_args()
    clients = {"starboard": "starboard"}
    if Path(options.trackers_python).exists():
        clients |= {"trackio": "trackio", "mlflow": "mlflow", "mlflow_waiting": "mlflow", "aim": "aim"}
    else:
        sys.stdout.write("recording: our client only; make setup-trackers installs the others.\n")
    if options.only:
        clients = {name: clients[name] for name in options.only.split(",")}
    found: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as scratch, database(options.postgres), contextlib.ExitStack() as stack:
        addresses = {
            name: stack.enter_context(SERVERS[name](options.trackers_python, Path(scratch) / name))
            for name in dict.fromkeys(clients.values())
        }
        for _ in range(options.rounds):
            for client, server in clients.items():
                python = sys.executable if client == "starboard" else options.trackers_python
                found.setdefault(client, []).append(in_a_process(python, client, addresses[server], Path(scratch)))
    result = {
        client: {name: round(statistics.median(one[name] for one in each), 1) for name in each[0]}
        for client, each in found.items()
    }
    sys.stdout.write(json.dumps({"benchmark": "recording", "steps": STEPS, "values": VALUES, **result}) + "\n")
    return 0


def in_a_process(python: str, client: str, address: str, scratch: Path) -> dict[str, float]:
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'client'}:{ROOT}",
        "STARBOARD_SPOOL": str(scratch / "spool"),
        "TRACKIO_DIR": str(scratch / "trackio-client"),
        "MLFLOW_ENABLE_ASYNC_LOGGING": "false",
        "OMP_NUM_THREADS": "1",
    }
    command = [python, "-m", "benchmarks.recording_clients", client, address]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=600, check=False)
    if done.returncode:
        raise SystemExit(f"{client} failed:\n{done.stderr[-3000:]}")
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


@contextlib.contextmanager
def starboard(_: str, folder: Path) -> Iterator[str]:
    """Our site as `make run` serves it, without a worker, since arrival is what is measured."""
    folder.mkdir()
    port = free_port()
    os.environ |= {"PORT": str(port), "STARBOARD_API_INGESTS_PER_MINUTE": "100000"}
    prepare_site(folder)
    token = a_token()
    command = [sys.executable, "-m", "workers.launch.web"]
    with process(command, f"http://127.0.0.1:{port}/healthz", environment={}):
        yield f"http://127.0.0.1:{port}#{token}"


def a_token() -> str:
    """Of the same user as `session`: a later one is not in the first project."""
    from datetime import timedelta

    from django.contrib.auth.models import User

    from webapp.accounts.models import Scope
    from webapp.accounts.tokens import new_token

    user, _ = User.objects.get_or_create(username="bench")
    return new_token(user, name="bench", scopes=list(Scope), lifetime=timedelta(days=1))


TRACKIO = """
import pathlib, sys, time, trackio
port, written = int(sys.argv[1]), pathlib.Path(sys.argv[2])
*_, address = trackio.show(open_browser=False, block_thread=False, server_port=port)
written.write_text(address)
time.sleep(100_000)
"""


@contextlib.contextmanager
def trackio(python: str, folder: Path) -> Iterator[str]:
    folder.mkdir()
    port, written = free_port(), folder / "address"
    environment = {"TRACKIO_DIR": str(folder), "HF_HUB_OFFLINE": "1"}
    command = [python, "-c", TRACKIO, str(port), str(written)]
    with process(command, f"http://127.0.0.1:{port}", environment=environment):
        while not written.exists():
            time.sleep(0.1)
        yield written.read_text()


@contextlib.contextmanager
def mlflow(python: str, folder: Path) -> Iterator[str]:
    folder.mkdir()
    port, store = free_port(), f"sqlite:///{folder / 'mlflow.db'}"
    command = [python, "-m", "mlflow", "server", "--backend-store-uri", store, "--host", "127.0.0.1", "--workers", "1"]
    origin = f"http://127.0.0.1:{port}"
    with process([*command, "--port", str(port)], f"{origin}/health", environment={}, folder=folder):
        yield origin


@contextlib.contextmanager
def aim(python: str, folder: Path) -> Iterator[str]:
    folder.mkdir()
    port, command = free_port(), str(Path(python).parent / "aim")
    subprocess.run([command, "init", "--repo", str(folder), "--yes"], capture_output=True, check=True)
    server = [command, "server", "--repo", str(folder), "--port", str(port)]
    with process(server, f"http://127.0.0.1:{port}/", environment={"AIM_UI_TELEMETRY_ENABLED": "0"}, folder=folder):
        yield f"aim://127.0.0.1:{port}"


SERVERS: dict[str, Server] = {"starboard": starboard, "trackio": trackio, "mlflow": mlflow, "aim": aim}


if __name__ == "__main__":
    sys.exit(main())
