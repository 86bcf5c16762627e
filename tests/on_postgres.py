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
# These read models in processes of their own, open the pages of `test_a_signed_in_user_gets_the_status_in_the_table`
# once more, or are refused before a view has read anything: what they ask of roles, headers, tokens and escapes is no
# matter of the database. Every page is opened by an admin of its project, and by one of the installation.
SECURITY = "tests/webapp/security"
TESTS += [
    f"--ignore={path}"
    for path in ("tests/webapp/inspections", f"{SECURITY}/test_headers.py", f"{SECURITY}/test_in_a_browser.py")
]
TESTS += [
    f"--deselect={SECURITY}/{test}"
    for test in (
        "test_roles.py::test_an_anonymous_user_gets_the_status_in_the_table",
        "test_roles.py::test_a_signed_in_user_gets_the_status_in_the_table[stranger]",
        "test_roles.py::test_a_signed_in_user_gets_the_status_in_the_table[viewer]",
        "test_roles.py::test_a_signed_in_user_gets_the_status_in_the_table[editor]",
        "test_roles.py::test_no_route_accepts_a_form_without_its_token",
        "test_hostile_text.py::test_every_hostile_response_arrives_unchanged",
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
    with PostgreSQL(folder) as one:
        yield one.url


class PostgreSQL:
    """`with PostgreSQL(folder) as one:` is a new server, whose programs are in `folder`. Only a `durable` one waits for
    the disk."""

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        self.folder, self.durable, self.port = folder, durable, free_port()
        self.user = "postgres" if os.geteuid() == 0 else None
        self.runs = False
        self.home = Path(tempfile.mkdtemp(prefix="starboard-postgres-"))
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    def __enter__(self) -> PostgreSQL:
        if self.user:
            shutil.chown(self.home, self.user)
        self._run("initdb", "-A", "trust", "-U", "postgres")
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.runs:
            self.stop("immediate")
        shutil.rmtree(self.home, ignore_errors=True)

    def start(self) -> None:
        fsync = "on" if self.durable else "off"
        settings = f"-p {self.port} -k {self.home} -c listen_addresses=127.0.0.1 -c fsync={fsync}"
        self._run("pg_ctl", "-o", settings, "-l", str(self.home / "log"), "-w", "start")
        self.runs = True

    def stop(self, mode: str) -> None:
        """`fast` rolls back what is open and ends; `immediate` ends as in a crash."""
        self.runs = False
        self._run("pg_ctl", "-m", mode, "-w", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.folder / program), "-D", str(self.home / "data"), *arguments]
        subprocess.run(command, user=self.user, cwd=self.home, stdout=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
