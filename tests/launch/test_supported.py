"""Systems without `/proc` are refused before anything is installed or started."""

from __future__ import annotations

from pathlib import Path

import pytest

from workers.launch import __main__, install, supported
from workers.launch.supported import why_unsupported


def test_this_machine_is_supported() -> None:
    assert why_unsupported() == ""


@pytest.mark.parametrize(
    ("platform", "proc", "cause"),
    [
        ("darwin", Path("/proc"), "this is darwin"),
        ("win32", Path("/proc"), "this is win32"),
        ("linux", Path("/nowhere"), "/nowhere is not mounted here"),
    ],
)
def test_an_unsupported_machine_is_pointed_to_the_container_image(platform: str, proc: Path, cause: str) -> None:
    assert why_unsupported(platform, proc) == (
        f"Starboard needs Linux, or WSL 2 on Windows, since it supervises runs through /proc; {cause}. "
        "Run the container image instead: see docker/compose.yml."
    )


def test_an_unsupported_machine_refuses_to_install_and_to_start(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in (install, __main__):
        monkeypatch.setattr(module, "why_unsupported", lambda: supported.why_unsupported("darwin"))
    assert (install.main(["base"]), __main__.main()) == (1, 1)
    assert capsys.readouterr().err.count("Run the container image instead") == 2
