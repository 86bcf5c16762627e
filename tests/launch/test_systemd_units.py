"""The systemd units: what systemd itself says of them, and what keeps engines alive while a worker is replaced."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.launch.installation import REPOSITORY

UNITS = REPOSITORY / "deploy" / "systemd"
INSTALLED = "/opt/starboard"


def service(name: str) -> dict[str, str]:
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # as configparser documents it
    parser.read(UNITS / f"starboard-{name}.service")
    return dict(parser["Service"])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path) -> None:
    for unit in UNITS.iterdir():  # with programs that are there, as it looks for them
        (tmp_path / unit.name).write_text(unit.read_text().replace(INSTALLED, str(REPOSITORY)))
    files = sorted(str(path) for path in tmp_path.glob("starboard*.*") if path.suffix != ".env")
    assert len(files) == 5
    found = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *files], capture_output=True, text=True, check=False
    )
    ours = [line for line in found.stderr.splitlines() if "starboard" in line]
    assert (found.returncode, ours) == (0, [])


def test_engines_outlive_their_worker_and_its_memory_killer() -> None:
    worker = service("worker")
    assert worker["KillMode"] == "process"
    assert worker["OOMPolicy"] == "continue"
    assert "PrivateTmp" not in worker  # it would be removed under the engines


def test_no_unit_runs_as_root_or_gains_privileges() -> None:
    for name in ("prepare", "web", "worker", "engines"):
        unit = service(name)
        assert (unit["User"], unit["NoNewPrivileges"], unit["CapabilityBoundingSet"]) == ("starboard", "yes", "")
        assert unit["ProtectSystem"] == "strict"


def test_every_program_of_a_unit_exists() -> None:
    for name, module in {"prepare": "workers/launch/prepare.py", "web": "workers/launch/web.py"}.items():
        assert service(name)["ExecStart"].endswith(f"-m {module.removesuffix('.py').replace('/', '.')}")
        assert (REPOSITORY / module).exists()
    assert (REPOSITORY / "workers/management/commands/suspend_runs.py").exists()
