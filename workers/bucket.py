"""Objects below a prefix of an S3-compatible bucket. Endpoint, region and credentials are those of boto3's own
environment variables and files (`AWS_ENDPOINT_URL`, `AWS_ACCESS_KEY_ID` and so on).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from engine.errors import StarboardError

PART = 1 << 20
ONE_PUT = 64 << 20  # bytes; larger files are uploaded in parts


class BucketError(StarboardError):
    """The bucket cannot be used, or does not have what was stored."""


class Bucket:
    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "s3" or not parts.netloc:
            raise BucketError(f"STARBOARD_ARCHIVE_URL is {url!r}.", remedy="Give s3://BUCKET/PREFIX.")
        try:
            import boto3
            from boto3.s3.transfer import TransferConfig
            from botocore.config import Config
        except ImportError:
            raise BucketError(
                "STARBOARD_ARCHIVE_URL is set, and boto3 is not installed.", remedy="Install the extra `archive`."
            ) from None
        self.name, self.prefix = parts.netloc, parts.path.strip("/")
        self._client: Any = boto3.client("s3", config=Config(retries={"mode": "standard", "total_max_attempts": 5}))
        self._transfer: Any = TransferConfig(multipart_threshold=ONE_PUT, multipart_chunksize=ONE_PUT)

    def url_of(self, key: str) -> str:
        return f"s3://{self.name}/{self._key(key)}"

    def put_file(self, path: Path, key: str, sha256: str) -> None:
        """The server compares checksums of what it receives; the hash is kept with the object."""
        extra = {"ChecksumAlgorithm": "SHA256", "Metadata": {"sha256": sha256}}
        self._client.upload_file(str(path), self.name, self._key(key), ExtraArgs=extra, Config=self._transfer)

    def put(self, key: str, content: bytes) -> None:
        digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
        self._client.put_object(Bucket=self.name, Key=self._key(key), Body=content, ChecksumSHA256=digest)

    def get(self, key: str) -> bytes | None:
        """None if there is no such object."""
        try:
            body = self._client.get_object(Bucket=self.name, Key=self._key(key))["Body"]
        except self._client.exceptions.NoSuchKey:
            return None
        content: bytes = body.read()
        return content

    def get_file(self, key: str, path: Path) -> str:
        """Writes the object to `path`; returns the SHA-256 of what came."""
        try:
            body = self._client.get_object(Bucket=self.name, Key=self._key(key))["Body"]
        except self._client.exceptions.NoSuchKey:
            raise BucketError(f"{self.url_of(key)} is no longer there.") from None
        digest = hashlib.sha256()
        with path.open("wb") as file:
            for part in body.iter_chunks(PART):
                digest.update(part)
                file.write(part)
        return digest.hexdigest()

    def facts(self, prefix: str) -> dict[str, int]:
        """Bytes of each object below `prefix`, by its key after that."""
        start = self._key(prefix).rstrip("/") + "/"
        return {one["Key"].removeprefix(start): one["Size"] for one in self._listed(start)}

    def delete_all(self, prefix: str) -> None:
        for one in list(self._listed(self._key(prefix).rstrip("/") + "/")):
            self._client.delete_object(Bucket=self.name, Key=one["Key"])

    def _listed(self, start: str) -> Iterator[dict[str, Any]]:
        for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=start):
            yield from page.get("Contents", [])

    def _key(self, key: str) -> str:
        return f"{self.prefix}/{key}" if self.prefix else key


def the_bucket() -> Bucket | None:
    """None if no bucket is configured."""
    return Bucket(settings.STARBOARD_ARCHIVE_URL) if settings.STARBOARD_ARCHIVE_URL else None
