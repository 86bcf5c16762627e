"""Static files are published once for each version, with their gzip files, and served compressed."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from django.test import AsyncClient, Client
from pytest_django import Settings

from webapp.published_static import publish_static

PLOTLY = "vendor/plotly/plotly-basic.min.js"


@pytest.fixture
def published(settings: Settings, tmp_path: Path) -> Path:
    settings.STATIC_ROOT = tmp_path / "static" / "0123456789ab"
    settings.SERVESTATIC_USE_FINDERS = True
    return publish_static()


def test_each_large_text_file_has_a_smaller_gzip_file_with_the_same_content(published: Path) -> None:
    plain, packed = published / PLOTLY, published / f"{PLOTLY}.gz"
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert packed.stat().st_size < plain.stat().st_size / 2


def test_a_published_version_is_not_copied_again_and_older_ones_are_removed(
    published: Path, settings: Settings
) -> None:
    before = (published / PLOTLY).stat().st_mtime_ns
    publish_static()
    assert (published / PLOTLY).stat().st_mtime_ns == before
    settings.STATIC_ROOT = published.parent / "ba9876543210"
    newer = publish_static()
    assert (newer / PLOTLY).exists() and not published.exists()


def test_an_interrupted_copy_is_repeated(published: Path) -> None:
    (published / ".complete").unlink()
    (published / PLOTLY).unlink()
    publish_static()
    assert (published / PLOTLY).exists()


async def test_browsers_that_accept_gzip_get_the_gzip_file(published: Path, settings: Settings) -> None:
    client = AsyncClient()
    client.handler._middleware_chain = None  # built again, with these settings
    answer = await client.get(f"{settings.STATIC_URL}{PLOTLY}", headers={"accept-encoding": "gzip"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert int(answer.headers["Content-Length"]) == (published / f"{PLOTLY}.gz").stat().st_size


@pytest.mark.django_db
def test_pages_are_compressed_for_browsers_that_accept_it(browser: Client) -> None:
    answer = browser.get("/runs/", headers={"accept-encoding": "gzip"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert b"</html>" in gzip.decompress(answer.content)
