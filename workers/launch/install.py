"""Puts what `requirements/` names into `.venv`. Plain standard library: nothing is installed yet when it runs.

`python -m workers.launch.install base` does nothing if the last set-up had the same files and Python. A download whose
hash is not in the file is refused; torch alone has none there, see `requirements/torch.txt`. What is only measured
against, or tested with, has an environment of its own.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

from workers.launch.supported import why_unsupported

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
SEPARATE = {kind: ROOT / f".venv-{kind}" for kind in ("trl", "verl", "trackers", "games")}
WITHOUT_STARBOARD = {"verl", "trackers", "games"}
WITHOUT_TORCH = {"trackers", "games"}
OLDEST = (3, 11)
UV_EXECUTABLE = VENV / "bin" / "uv"


class CannotInstall(Exception):
    """The cause and the remedy."""


def install(kind: str) -> None:
    """Makes the environment and installs `requirements/<kind>.txt`, unless that is done already."""
    if sys.version_info < OLDEST:
        found = ".".join(map(str, sys.version_info[:3]))
        raise CannotInstall(f"Python {found} is too old. Use 3.11 or newer: make PYTHON=python3.12 …")
    environment = SEPARATE.get(kind, VENV)
    python = environment / "bin" / "python"
    uv = UV_EXECUTABLE if UV_EXECUTABLE.exists() else environment / "bin" / "uv"
    stamp = environment / f".starboard-{kind}"
    wanted = fingerprint(kind)
    if python.exists() and stamp.exists() and stamp.read_text() == wanted:
        return
    _say(f"Setting up {environment} with requirements/{kind}.txt. This takes some minutes, once.")
    if not python.exists():
        venv.create(environment, with_pip=True)
    if not uv.exists():
        _run(python, [str(python), "-m", "pip", "install", "--quiet", f"uv=={_version_of_uv()}"])
    given = [word for file in requirements_of(kind) for word in ("-r", file)]
    given += [word for file in overrides_of(kind) for word in ("--overrides", file)]
    _run(python, [str(uv), "pip", "install", "--quiet", "--python", str(python), *given])
    stamp.write_text(wanted)


def requirements_of(kind: str) -> list[str]:
    file = f"requirements/{kind}.txt"
    return [file] if kind in WITHOUT_TORCH else ["requirements/torch.txt", file]


def overrides_of(kind: str) -> list[str]:
    """Requirements of packages that are not installed."""
    files = {"cluster": "cluster", "cluster-gpu": "cluster", "suites": "suites"}
    return [f"requirements/{files[kind]}-overrides.txt"] if kind in files else []


def fingerprint(kind: str) -> str:
    """Of the files, and of the interpreter."""
    digest = hashlib.sha256(f"{sys.version_info[:2]}".encode())
    for file in [*requirements_of(kind), *overrides_of(kind)]:
        digest.update((ROOT / file).read_bytes())
    return digest.hexdigest()


def _version_of_uv() -> str:
    (version,) = re.findall(r"^uv==(\S+)", (ROOT / "requirements/base.txt").read_text(), re.MULTILINE)
    return str(version)


def environment_of(python: Path) -> dict[str, str]:
    """uv does not read pip's configuration, so pip's `find-links` and certificates are passed on to it."""
    environment = dict(os.environ)
    if "UV_FIND_LINKS" not in environment and (links := _pip_setting(python, "find-links")):
        environment["UV_FIND_LINKS"] = ",".join(links.split())
    if "SSL_CERT_FILE" not in environment and (certificates := _pip_setting(python, "cert")):
        environment["SSL_CERT_FILE"] = certificates
    return environment


def _pip_setting(python: Path, name: str) -> str:
    """The environment's `PIP_…`, else the configuration file's."""
    given = os.environ.get(f"PIP_{name.replace('-', '_').upper()}")
    if given:
        return given
    command = [str(python), "-m", "pip", "config", "get", f"global.{name}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip().strip("'\"") if done.returncode == 0 else ""


def _run(python: Path, command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, env=environment_of(python), check=False)
    if done.returncode != 0:
        raise CannotInstall(
            f"{' '.join(command[:4])} … ended with status {done.returncode}; its message is above. "
            "Without a network, point PIP_FIND_LINKS at a folder of wheels."
        )


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def main(arguments: list[str]) -> int:
    if problem := why_unsupported():
        _say(problem)
        return 1
    try:
        install(arguments[0] if arguments else "base")
    except CannotInstall as problem:
        _say(str(problem))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
