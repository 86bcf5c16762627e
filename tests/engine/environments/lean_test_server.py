"""A test server that speaks the HTTP protocol of kimina-lean-server, from its published schema, without Lean.

It knows the proofs that ship with the theorems, letter by letter, and rejects everything else: it shows how the client
behaves, not that a proof is right.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from engine.environments.lean.shipped import shipped_theorems

PROOFS = {theorem.statement: theorem.proof for theorem in shipped_theorems()}
Message = dict[str, Any]


@dataclass
class Behaviour:
    """`statuses` are what the next requests get, before the server works."""

    key: str = ""
    statuses: list[int] = field(default_factory=list)
    only_old_path: bool = False
    result: dict[str, Any] | None = None  # in place of the check's own
    body: bytes | None = None  # in place of all of it
    requests: list[tuple[str, dict[str, Any], str]] = field(default_factory=list)  # path, payload, Authorization


def message(severity: str, data: str, line: int = 1) -> Message:
    return {"severity": severity, "pos": {"line": line, "column": 0}, "endPos": None, "data": data}


def check(code: str) -> dict[str, Any]:
    """What a REPL would say of the script, if all that Lean accepted were the known proofs and their beginnings."""
    statement = next((one for one in PROOFS if one in code), "")
    rest = code.partition(statement)[2] if statement else ""
    body, _, name = rest.partition("#print axioms ")
    lines = [line.removeprefix("  ") for line in body.split("\n") if line.strip()]
    proof = list(PROOFS.get(statement, ()))
    if "sorry" in body:
        where = {"line": 2, "column": 2}
        return {
            "messages": [message("warning", "declaration uses 'sorry'")],
            "sorries": [{"pos": where, "goal": "⊢ p"}],
        }
    if lines == proof:
        return {"messages": [message("info", f"'{name}' depends on axioms: [propext]", 9)], "env": 1}
    if lines == proof[: len(lines)]:
        left = len(proof) - len(lines)
        return {
            "messages": [message("error", f"unsolved goals\n⊢ {left} of {len(proof)} are left"), _sorry_axiom(name)]
        }
    return {"messages": [message("error", "unknown tactic or failed goal", 2), _sorry_axiom(name)]}


def _sorry_axiom(name: str) -> Message:
    return message("info", f"'{name}' depends on axioms: [sorryAx]", 9)


@contextmanager
def lean_test_server(behaviour: Behaviour | None = None) -> Iterator[tuple[str, Behaviour]]:
    """Its address, and its behaviour, which may be changed while it runs."""
    acts = behaviour or Behaviour()

    class Handler(BaseHTTPRequestHandler):
        wbufsize = -1  # one packet for headers and body; the second would wait for an acknowledgement

        def do_POST(self) -> None:
            payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            authorization = self.headers.get("Authorization", "")
            acts.requests.append((self.path, payload, authorization))
            if acts.statuses:
                self.respond(acts.statuses.pop(0), {"detail": "No available REPLs"})
            elif acts.key and authorization != f"Bearer {acts.key}":
                self.respond(401, {"detail": "Invalid or missing API key"})
            elif self.path == "/api/check" and not acts.only_old_path:
                self.respond(200, {"results": [self.result("id", one, "code") for one in payload["snippets"]]})
            elif self.path == "/verify":
                self.respond(200, {"results": [self.result("custom_id", one, "proof") for one in payload["codes"]]})
            else:
                self.respond(404, {"detail": "Not Found"})

        def result(self, name: str, snippet: dict[str, Any], code: str) -> dict[str, Any]:
            found = acts.result or {"response": check(snippet[code])}
            return {name: snippet[name], "time": 0.01, **found}

        def respond(self, status: int, value: Any) -> None:
            body = acts.body if acts.body is not None else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", acts
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
