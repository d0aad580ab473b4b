"""An HTTP server that notes the headers of requests; what is asked of /away is sent to the port in its second argument."""

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

NOTES, TARGET = sys.argv[1], sys.argv[2:]


class Handler(BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get("content-length") or 0))
        with open(NOTES, "a", encoding="utf-8") as notes:
            notes.write(f"{self.command} {self.path} {self.headers.get('authorization')} {self.headers.get('x-own')}\n")
        if TARGET:
            self.send_response(307)
            self.send_header("location", f"http://127.0.0.1:{TARGET[0]}/there")
        else:
            self.send_response(404)
        self.send_header("content-length", "0")
        self.end_headers()

    do_GET = do_POST = do_DELETE = answer

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
