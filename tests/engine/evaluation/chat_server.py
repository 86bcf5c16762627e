"""A chat-completions server on loopback that plays at random, seeded by the request, and can misbehave on demand."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MOVES = ["Left", "Down", "Right", "Up"]


@dataclass(kw_only=True)
class Answer:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0  # seconds
    hang_up: bool = False


@dataclass(kw_only=True)
class Asked:
    path: str
    headers: dict[str, str]
    payload: dict[str, Any]
    time: float


Script = Callable[[Asked, int], "Answer | None"]  # None: the usual response; the number counts requests from 0


def moves_for(seed: int) -> list[str]:
    """What the server plays on a request with this seed."""
    return random.Random(seed).choices(MOVES, k=2)


def completion(content: str | None, *, finish: str = "stop", usage: bool = True, **more: Any) -> bytes:
    """Usage is made up but checkable: 10 tokens given for each request, 3 sampled."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **more}, "finish_reason": finish}
    usage_fields = {"usage": {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}} if usage else {}
    return json.dumps({"id": "x", "object": "chat.completion", "choices": [choice], **usage_fields}).encode()


def usual(asked: Asked) -> Answer:
    moves = " || ".join(moves_for(asked.payload.get("seed", 0)))
    return Answer(body=completion(f"<think>so</think><answer>{moves}</answer>"))


def error(status: int, message: str, **more: Any) -> Answer:
    return Answer(status=status, body=json.dumps({"error": {"message": message, **more}}).encode())


class ChatServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, script: Script, port: int) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.script = script
        self.asked: list[Asked] = []
        self.busy = self.busiest = 0
        self.lock = threading.Lock()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that give up and hang up are part of the tests."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ChatServer

    def do_POST(self) -> None:
        server = self.server
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        asked = Asked(
            path=self.path, headers=dict(self.headers.items()), payload=json.loads(body or b"{}"), time=time.monotonic()
        )
        with server.lock:
            number = len(server.asked)
            server.asked.append(asked)
            server.busy += 1
            server.busiest = max(server.busiest, server.busy)
        answer = server.script(asked, number) or usual(asked)
        time.sleep(answer.delay)
        with server.lock:
            server.busy -= 1
        if answer.hang_up:
            self.close_connection = True
            return
        try:
            self.send_response(answer.status)
            for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_GET = do_POST

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def serving(script: Script = lambda asked, number: None, *, port: int = 0) -> Iterator[ChatServer]:
    server = ChatServer(script, port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
