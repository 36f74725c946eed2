"""An MCP server over HTTP in plain Python, for an image: tools that write to the database, and some that misbehave.

The database's URL is in DATABASE_URL, or in the header X-Database where one server is there for all attempts.
"""

from __future__ import annotations

import json
import os
import smtplib
import socket
import time
import urllib.request
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

BEGUN = time.monotonic()
TOOLS = ("execute", "variable", "who", "send_mail", "post", "die")


def execute(url: str, statement: str) -> str:
    """Run a statement and commit it; what it returned."""
    parts = urlsplit(url)
    where = {
        "host": parts.hostname,
        "port": parts.port,
        "user": parts.username,
        "password": unquote(parts.password or ""),
    }
    if parts.scheme.startswith("postgresql"):
        import psycopg

        connection: Any = psycopg.connect(dbname=parts.path[1:], **where)
    else:
        import pymysql

        connection = pymysql.connect(database=parts.path[1:], **where)
    with connection.cursor() as cursor:
        cursor.execute(statement)
        rows = cursor.fetchall() if cursor.description else ()
    connection.commit()
    connection.close()
    return json.dumps([list(map(str, row)) for row in rows])


def play(name: str, given: dict[str, Any], headers: Any) -> str:
    database = headers.get("X-Database") or os.environ.get("DATABASE_URL", "")
    match name:
        case "execute":
            return execute(database, given["statement"])
        case "variable":
            return os.environ.get(given["name"], "unset")
        case "who":
            return f"{socket.gethostname()} {headers.get('X-Attempt')}"
        case "send_mail":
            mail = EmailMessage()
            mail["To"], mail["From"] = given["to"], "shop@example.com"
            mail.set_content("hello")
            with smtplib.SMTP(os.environ["MAIL_HOST"], int(os.environ["MAIL_PORT"])) as smtp:
                smtp.send_message(mail)
            return "sent"
        case "post":
            request = urllib.request.Request(os.environ["HTTP_URL"] + "/hook", data=b"{}", method="POST")
            with urllib.request.urlopen(request) as answer:
                return str(answer.status)
        case "die":
            os._exit(3)
    raise LookupError(name)


def answer(request: dict[str, Any], headers: Any) -> dict[str, Any]:
    match request["method"]:
        case "initialize":
            about = {"name": "image", "version": "1"}
            return {
                "result": {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": about,
                }
            }
        case "tools/list":
            return {"result": {"tools": [{"name": one, "inputSchema": {"type": "object"}} for one in TOOLS]}}
        case "tools/call":
            try:
                text = play(request["params"]["name"], request["params"].get("arguments") or {}, headers)
            except Exception as error:  # noqa: BLE001 - whatever it is, the agent reads it
                text = f"{type(error).__name__}: {error} at {os.environ.get('DATABASE_URL')}"
                return {"result": {"content": [{"type": "text", "text": text}], "isError": True}}
            return {"result": {"content": [{"type": "text", "text": text}]}}
    return {"error": {"code": -32601, "message": "no such method"}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in request:
            self._send(202, b"")
            return
        self._send(
            200, json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer(request, self.headers)}).encode()
        )

    def do_GET(self) -> None:
        ready = time.monotonic() - BEGUN >= float(os.environ.get("READY_AFTER", "0"))
        self._send(405 if self.path != "/health" else 200 if ready else 503, b"")

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what is asked is nobody's business."""


if __name__ == "__main__":
    if os.environ.get("REFUSE"):
        raise SystemExit(f"cannot start: no licence for {os.environ.get('DATABASE_URL')}")
    if delay := os.environ.get("LISTEN_AFTER"):
        time.sleep(float(delay))
    print("listening", flush=True)
    ThreadingHTTPServer(("0.0.0.0", 8000), Handler).serve_forever()
