"""Compiles `requirements/*.txt` from `pyproject.toml`: every version that is installed, with the hashes of its files.

`make lock` keeps the versions that are there as long as they satisfy what is declared; `make lock UPGRADE=django` takes
the newest of a package, `UPGRADE=all` of all. No index is named in the files: the machine's own configuration decides.
"""

from __future__ import annotations

import subprocess
import sys

from workers.launch.install import ROOT, UV_EXECUTABLE, WITHOUT_STARBOARD, environment_of, overrides_of

# The files, and the extras of `pyproject.toml` in each. Each keeps to the versions of the first, and `cluster` to those
# of `dev`, beside which it is installed, as `suites` is beside `cluster`.
FILES = {
    "base": ([], []),
    "dev": (["dev"], ["base"]),
    "cluster": (["cluster"], ["dev"]),
    "suites": (["reasoning-gym", "textarena", "8bit"], ["cluster"]),
    "cluster-gpu": (["cluster-gpu"], ["base"]),
    "trl": (["trl"], ["base"]),
    "verl": ([], []),
    "trackers": ([], []),
    "games": ([], []),
}
ALWAYS = [
    "--overrides", "requirements/torch.txt",  # whatever build a package requires
    "--no-emit-package", "torch",
    "--universal",
    "--generate-hashes",
    "--no-annotate",
    "--custom-compile-command", "make lock",
    "--quiet",
]  # fmt: skip


def command_of(kind: str, upgrade: str = "") -> list[str]:
    extras, kept = FILES[kind]
    source = ["--group", kind] if kind in WITHOUT_STARBOARD else ["pyproject.toml"]
    command = [str(UV_EXECUTABLE), "pip", "compile", *source, "-o", f"requirements/{kind}.txt", *ALWAYS]
    if kind != "cluster-gpu":  # whose CUDA libraries are those of the registry's torch, which vLLM is built for
        command += ["--config-file", "requirements/lock.toml"]
    command += [word for extra in extras for word in ("--extra", extra)]
    command += [word for other in kept for word in ("--constraint", f"requirements/{other}.txt")]
    command += [word for file in overrides_of(kind) for word in ("--overrides", file)]
    if upgrade:
        command += ["--upgrade"] if upgrade == "all" else ["--upgrade-package", upgrade]
    return command


def main(arguments: list[str]) -> int:
    upgrade = arguments[0] if arguments else ""
    environment = environment_of(UV_EXECUTABLE.parent / "python")
    environment.pop("UV_FIND_LINKS", None)  # wheels of this machine alone
    for kind in FILES:
        done = subprocess.run(
            command_of(kind, upgrade), cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=False
        )
        if done.returncode != 0:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
