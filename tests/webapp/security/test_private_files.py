"""The data directory is private, also where it existed before with the modes of another program."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from webapp.security.private_files import keep_private


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> str:
    return oct(path.stat().st_mode)[-3:]


def test_a_directory_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    keep_private(data)
    assert mode(data) == "700"


def test_files_created_afterwards_are_private(tmp_path: Path) -> None:
    keep_private(tmp_path / "data")
    (tmp_path / "data/file").write_text("x")
    (tmp_path / "data/folder").mkdir()
    assert (mode(tmp_path / "data"), mode(tmp_path / "data/file"), mode(tmp_path / "data/folder")) == (
        "700",
        "600",
        "700",
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("planted", ["secret_key", "launch.lock"])
def test_what_another_user_has_put_into_a_shared_directory_is_not_trusted(tmp_path: Path, planted: str) -> None:
    """Such as a secret key that they know, or a link. From then on they cannot write; it is refused until that is
    gone."""
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(0o777)
    (data / planted).symlink_to("/nowhere")
    os.chown(data / planted, 12345, 12345, follow_symlinks=False)
    (data / "runs").mkdir()
    for _ in range(2):
        with pytest.raises(ImproperlyConfigured, match=rf"was open to others, .* of other users: {planted}\. Remove"):
            keep_private(data)
        assert mode(data) == "755"
    (data / planted).unlink()
    keep_private(data)
    assert mode(data) == "700"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    os.chown(data, 12345, 12345)
    with pytest.raises(ImproperlyConfigured, match="belongs to another user"):
        keep_private(data)
