"""Real receivers on loopback, of webhooks and of mail, in threads; they store everything they receive."""

from __future__ import annotations

import contextlib
import socketserver
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Inbox:
    """`answers` are the statuses to return, the last of them repeatedly; `manner` is how the response is sent."""

    answers: list[int] = field(default_factory=lambda: [204])
    manner: str = "plain"
    got: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?a=b"


@contextlib.contextmanager
def webhook_receiver(**options: Any) -> Iterator[Inbox]:
    inbox = Inbox(**options)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            inbox.got.append((self.path, {key.lower(): value for key, value in self.headers.items()}, body))
            if inbox.manner == "drip":  # one byte at a time, endlessly
                with contextlib.suppress(OSError):
                    while True:
                        self.wfile.write(b"H")
                        time.sleep(0.05)
                return
            if inbox.manner == "flood":
                with contextlib.suppress(OSError):
                    for _ in range(1000):
                        self.wfile.write(b"x" * 65536)
                return
            status = inbox.answers.pop(0) if len(inbox.answers) > 1 else inbox.answers[0]
            self.send_response(status)
            self.send_header("Location", "http://169.254.169.254/latest/meta-data/")
            self.send_header("Content-Length", "6")
            self.end_headers()
            self.wfile.write(b"secret")

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    inbox.port = server.server_address[1]
    with _serving(server):
        yield inbox


@dataclass
class Mailbox:
    port: int = 0
    letters: list[tuple[str, list[str], str]] = field(default_factory=list)  # from, to, text
    refuses: bool = False


@contextlib.contextmanager
def mail_receiver(*, refuses: bool = False) -> Iterator[Mailbox]:
    """As much of SMTP as a client needs."""
    mailbox = Mailbox(refuses=refuses)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            sender, to = "", []
            self._send_line("220 here")
            for raw in self.rfile:
                line = raw.decode().strip()
                verb = line[:4].upper()
                if verb == "MAIL":
                    sender = line[10:].split(">")[0].strip("<: ")
                elif verb == "RCPT":
                    if mailbox.refuses:
                        self._send_line("550 no such user")
                        continue
                    to.append(line[8:].strip("<>: "))
                elif verb == "DATA":
                    self._send_line("354 send the message")
                    mailbox.letters.append((sender, to, self._letter()))
                elif verb == "QUIT":
                    self._send_line("221 bye")
                    return
                self._send_line("250 ok")

        def _letter(self) -> str:
            lines = []
            for raw in self.rfile:
                if raw == b".\r\n":
                    break
                lines.append(raw.decode())
            return "".join(lines)

        def _send_line(self, text: str) -> None:
            self.wfile.write(f"{text}\r\n".encode())

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    mailbox.port = server.server_address[1]
    with _serving(server):
        yield mailbox


@contextlib.contextmanager
def _serving(server: Any) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield
    server.shutdown()
    server.server_close()
    thread.join(10)
