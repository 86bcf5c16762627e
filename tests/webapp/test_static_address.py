"""Static files are cached for a year, under a URL that changes with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings
from django.templatetags.static import static
from django.test import Client

from webapp.static_address import static_address


def folder(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_the_static_url_depends_on_content_not_on_the_directory(tmp_path: Path) -> None:
    here, there = (folder(tmp_path / name, {"js/a.js": "1", "css/b.css": "2"}) for name in ("here", "there"))
    assert static_address(here) == static_address(there)


@pytest.mark.parametrize(
    "files", [{"a": "1", "b": "3"}, {"a": "12", "b": ""}, {"a": "1", "c": "2"}, {"a": "1", "b": "2", "c": ""}]
)
def test_a_changed_renamed_or_added_file_changes_the_static_url(files: dict[str, str], tmp_path: Path) -> None:
    before = static_address(folder(tmp_path / "before", {"a": "1", "b": "2"}))
    assert static_address(folder(tmp_path / "after", files)) != before


def test_files_are_cached_and_import_each_other_by_relative_urls(client: Client) -> None:
    address = static("js/core/frame.js")
    assert address.startswith(settings.STATIC_URL) and address.endswith("/js/core/frame.js")
    answer = client.get(address)
    assert answer.status_code == 200 and "max-age=31536000" in answer.headers["Cache-Control"]
    assert client.get(static("js/core/dom.js")).status_code == 200
