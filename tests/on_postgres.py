"""`python -m tests.on_postgres [more arguments for pytest]`: runs tests on a temporary PostgreSQL server.

It needs the server's programs (`apt install postgresql`). As root they run as the `postgres` user, since the server
refuses root.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.launch.installation import free_port

TESTS = ["tests/webapp", "tests/workers", "-m", "(not slow or postgres) and not unit"]  # what has a database
# These open the pages of `test_a_signed_in_user_gets_the_status_in_the_table` once more, or are refused before a view
# has read anything: what they ask of headers, tokens and escapes is no matter of the database.
SECURITY = "tests/webapp/security"
TESTS += [f"--ignore={SECURITY}/test_headers.py"]
TESTS += [
    f"--deselect={SECURITY}/{test}"
    for test in (
        "test_roles.py::test_an_anonymous_user_gets_the_status_in_the_table",
        "test_roles.py::test_no_route_accepts_a_form_without_its_token",
        "test_hostile_text.py::test_every_page_escapes_hostile_text_and_names_its_hidden_characters",
    )
]
DIRECTORIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)  # Debian keeps them off the PATH


def main(arguments: list[str]) -> int:
    folder = find_programs()
    if folder is None:
        sys.stderr.write("PostgreSQL's initdb and pg_ctl were not found: apt install postgresql.\n")
        return 1
    with server(folder) as url:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *TESTS, *arguments]
        return subprocess.run(command, env={**os.environ, "DATABASE_URL": url}, check=False).returncode


def find_programs() -> Path | None:
    found = shutil.which("initdb")
    return Path(found).parent if found else next((path for path in DIRECTORIES if (path / "initdb").exists()), None)


@contextlib.contextmanager
def server(folder: Path) -> Iterator[str]:
    """The `DATABASE_URL` of a server that runs during the block."""
    user = "postgres" if os.geteuid() == 0 else None
    home = Path(tempfile.mkdtemp(prefix="starboard-postgres-"))
    if user:
        shutil.chown(home, user)
    data, port = str(home / "data"), free_port()

    def run(*command: str) -> None:
        subprocess.run(command, user=user, cwd=home, stdout=subprocess.DEVNULL, check=True)

    run(str(folder / "initdb"), "-D", data, "-A", "trust", "-U", "postgres")
    settings = f"-p {port} -k {home} -c listen_addresses=127.0.0.1 -c fsync=off"
    run(str(folder / "pg_ctl"), "-D", data, "-o", settings, "-l", str(home / "log"), "-w", "start")
    try:
        yield f"postgres://postgres@127.0.0.1:{port}/postgres"
    finally:
        run(str(folder / "pg_ctl"), "-D", data, "-m", "immediate", "-w", "stop")
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
