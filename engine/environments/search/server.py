"""A small retrieval server over the shipped encyclopaedia, or over the contexts of a file of questions:
`python -m engine.environments.search.server --port 8000`.

It speaks RAGEN's protocol (`query`, `top_k`) and Search-R1's (`queries`, `topk`), whichever a request has the keys of.
"""

from __future__ import annotations

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from engine.environments.search.corpus import from_files, index_of, shipped
from engine.environments.search.index import Hit, Index

MOST_RESULTS = 100
MOST_BYTES = 1 << 20


class RetrievalServer(ThreadingHTTPServer):
    """`serve_forever` serves; `server_address` has the port that was given for port 0."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], index: Index) -> None:
        super().__init__(address, _Handler)
        self.index = index

    def respond(self, request: Any) -> tuple[int, Any]:
        """The status and the response to the JSON of a request."""
        if not isinstance(request, dict):
            return 400, {"error": "The request is not a JSON object."}
        most = request.get("top_k", request.get("k", request.get("topk", 10)))
        if not isinstance(most, int) or isinstance(most, bool) or not 1 <= most <= MOST_RESULTS:
            return 400, {"error": f"The number of results is {most!r}; give 1 to {MOST_RESULTS}."}
        query, queries = request.get("query"), request.get("queries")
        if isinstance(queries, list) and all(isinstance(one, str) for one in queries):
            scores = request.get("return_scores") is True
            return 200, {"result": [[_search_r1(hit, scores) for hit in self.index.search(q, most)] for q in queries]}
        if not isinstance(query, str) or not query.strip():
            return 400, {"error": "The request has no query."}
        results = [_ragen(hit) for hit in self.index.search(query, most)]
        return 200, {"query": query, "method": "bm25", "results": results, "num_results": len(results)}


class _Handler(BaseHTTPRequestHandler):
    server: RetrievalServer
    timeout = 30

    def do_GET(self) -> None:
        if self.path == "/health":
            size = len(self.server.index)
            self._send(200, {"status": "healthy", "corpus_size": size, "index_type": "fts5", "index_loaded": True})
        else:
            self._send(404, {"error": "Use GET /health or POST /retrieve."})

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if self.path != "/retrieve":
            self._send(404, {"error": "Use GET /health or POST /retrieve."})
        elif not length.isdigit() or int(length) > MOST_BYTES:
            self.close_connection = True  # the body is not read
            self._send(413, {"error": f"The request has no Content-Length, or more than {MOST_BYTES} bytes."})
        else:
            try:
                request = json.loads(self.rfile.read(int(length)))
            except (ValueError, RecursionError):
                request = None
            self._send(*self.server.respond(request))

    def _send(self, status: int, data: Any) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: queries are the model's text."""


def _content(hit: Hit) -> str:
    return f'"{hit.article.title}"\n{hit.article.text}'


def _ragen(hit: Hit) -> dict[str, Any]:
    return {"id": hit.identity, "content": _content(hit), "score": hit.score}


def _search_r1(hit: Hit, scores: bool) -> dict[str, Any]:
    document = {"id": hit.identity, "contents": _content(hit)}
    return {"document": document, "score": hit.score} if scores else document


def main() -> None:
    parser = argparse.ArgumentParser(description="Serves searches in articles.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--path", default="", help="questions with contexts, in HotpotQA's form")
    parser.add_argument("--most", type=int, default=20_000, help="questions to read of the file")
    given = parser.parse_args()
    corpus = from_files(given.path, "", given.most) if given.path else shipped("all")
    with RetrievalServer((given.host, given.port), index_of(corpus)) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
