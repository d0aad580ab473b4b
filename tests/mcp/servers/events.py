"""An MCP server of the older way by HTTP. Its stream of events has lines that end in CR alone, and comes in small pieces."""

import json
import queue
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWERS = queue.Queue()


def answer(message):
    method = message["method"]
    if method == "initialize":
        return {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {"name": "e", "version": "1"}}
    if method == "tools/list":
        return {"tools": [{"name": "big", "description": "Big.", "inputSchema": {"type": "object"}}]}
    return {"content": [{"type": "text", "text": "x" * 20_000 + "END"}]}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.event("endpoint", ["/messages"])
        while True:
            text = json.dumps(ANSWERS.get(), indent=1)
            self.event("message", text.split("\n"))

    def event(self, name, lines):
        text = f": a comment\revent: {name}\r" + "".join(f"data: {line}\r" for line in lines) + "\r"
        for at in range(0, len(text), 1000):
            self.wfile.write(text[at:at + 1000].encode())
            self.wfile.flush()

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path != "/messages":
            self.send_response(405)
        else:
            self.send_response(202)
            if "id" in message:
                ANSWERS.put({"jsonrpc": "2.0", "id": message["id"], "result": answer(message)})
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
