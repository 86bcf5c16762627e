"""Downloads that are made while they are sent, so that their size does not matter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.http import HttpRequest, StreamingHttpResponse


def streamed(
    request: HttpRequest, chunks: Iterator[bytes], *, name: str, content_type: str, size: int | None = None
) -> StreamingHttpResponse:
    """`name` is the file's, in ASCII without quotation marks; `size` its length in bytes if it is known before."""
    is_asgi = hasattr(request, "scope")
    answer = StreamingHttpResponse(_one_by_one(chunks) if is_asgi else chunks, content_type=content_type)
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    # else the middleware would compress each chunk as a file of its own, of which many clients read the first only
    answer["Content-Encoding"] = "identity"
    if size is not None:
        answer["Content-Length"] = str(size)
    return answer


async def _one_by_one(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """For ASGI, which would read a plain iterator into memory before it sends a byte."""
    following = sync_to_async(lambda: next(chunks, None))
    while (chunk := await following()) is not None:
        yield chunk
