"""An MCP server whose version is in the file of its first argument, and in whose second it notes its calls. It restarts when the
version changes: on standard streams it ends, over HTTP (with "http" behind that) it knows older sessions no more, and with
"stateless" it has none. As version 2 its tool says that it destroys, and there is one more; as version 3 there is only that."""

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FILE, NOTES = sys.argv[1:3]


def version():
    with open(FILE, encoding="utf-8") as file:
        return int(file.read())


def answer(message):
    if message["method"] == "initialize":
        return {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                           "serverInfo": {"name": "restarts", "version": "1"}}}
    hints = {"old": {"destructiveHint": version() == 2}, "new": {}}
    names = {1: ["old"], 2: ["old", "new"], 3: ["new"]}[version()]
    if message["method"] == "tools/list":
        return {"result": {"tools": [{"name": name, "description": f"{hints[name]}", "annotations": hints[name],
                                      "inputSchema": {"type": "object"}} for name in names]}}
    name = message["params"]["name"]
    if name not in names:
        return {"error": {"code": -32602, "message": "no such tool"}}
    with open(NOTES, "a", encoding="utf-8") as notes:
        notes.write(f"{name} {version()}\n")
    return {"result": {"content": [{"type": "text", "text": "done"}]}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, status, body=b""):
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        if sys.argv[3] == "http":
            self.send_header("mcp-session-id", str(version()))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply(405)

    do_DELETE = do_GET

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.headers.get("mcp-session-id", str(version())) != str(version()):
            return self.reply(404)
        if "id" not in message:
            return self.reply(202)
        self.reply(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer(message)}).encode())

    def log_message(self, *_):
        pass


def end_with(own):
    while version() == own:
        time.sleep(0.02)
    os._exit(0)


if sys.argv[3:]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
else:
    threading.Thread(target=end_with, args=(version(),), daemon=True).start()
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer(asked)}), flush=True)
