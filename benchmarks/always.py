"""A judge that always gives the same answer, behind an OpenAI-compatible endpoint: `python benchmarks/always.py yes`.

It prints its URL and runs until it is killed. With it a suite can be played whose checkers ask a judge, and no model.
"""

from __future__ import annotations

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def server(answer: str, *, port: int = 0) -> ThreadingHTTPServer:
    """Not started yet; `server_address` says where it will be."""
    ruling = json.dumps({"reason": "It is always so.", "answer": answer})

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            message = {"role": "assistant", "content": ruling}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            choices = [{"index": 0, "finish_reason": "stop", "message": message}]
            body = json.dumps(
                {"id": "1", "object": "chat.completion", "choices": choices, "usage": usage}
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("answer", choices=["yes", "no"])
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    with server(options.answer, port=options.port) as running:
        print(f"http://127.0.0.1:{running.server_address[1]}/v1", flush=True)
        running.serve_forever()


if __name__ == "__main__":
    main()
