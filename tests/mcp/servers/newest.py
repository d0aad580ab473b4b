"""An MCP server that knows revision 2026-07-28 only. It refuses initialize as its arguments say: code and HTTP status; 0 means a
reply that is not a protocol message. A third argument names the file in which it notes what it is asked. With "stdio" behind that it
speaks on its standard streams."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CODE, STATUS, NOTES = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]

WANTED = {
    "roots": {"method": "roots/list", "params": {}},
    "form": {"method": "elicitation/create", "params": {"mode": "form", "message": "Which?", "requestedSchema": {
        "type": "object", "properties": {"which": {"type": "string"}}}}},
    "model": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}},
}


def note(text):
    with open(NOTES, "a", encoding="utf-8") as notes:
        notes.write(text + "\n")


def call(params):
    name, responses, state = params["name"], params.get("inputResponses"), params.get("requestState")
    note(f"call {name}")
    if name == "later":
        return {"resultType": "from the future"}
    if name == "nothing":
        return {"resultType": "input_required"}
    if name == "endless":
        return {"resultType": "input_required", "requestState": "again"}
    if name == "plain" or responses or state:
        said = json.dumps({"responses": responses, "state": state})
        return {"resultType": "complete", "content": [{"type": "text", "text": said}]}
    if name == "state":
        return {"resultType": "input_required", "requestState": "only"}
    return {"resultType": "input_required", "inputRequests": {"q": WANTED[name]}, "requestState": "s"}


def answer(message):
    method = message["method"]
    if method == "initialize":
        return {"error": {"code": CODE, "message": "not in this way"}}
    if method == "server/discover":
        result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "newest", "version": "1"}}
    elif method == "tools/list":
        names = ["plain", "state", "nothing", "endless", "later", *WANTED]
        result = {"tools": [{"name": name, "description": name, "inputSchema": {"type": "object"}} for name in names]}
    elif method == "tools/call":
        result = call(message["params"])
    else:
        return {"error": {"code": -32601, "message": "no such method"}}
    return {"result": {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, status, body, kind="application/json"):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply(405, b"")

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "id" not in message:
            return self.reply(202, b"")
        said = answer(message)
        if "error" in said and CODE == 0:
            return self.reply(STATUS, b"what is that?", "text/plain")
        status = STATUS if "error" in said else 200
        return self.reply(status, json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}).encode())

    def log_message(self, *_):
        pass


if sys.argv[4:] == ["stdio"]:
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer(asked)}), flush=True)
else:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
