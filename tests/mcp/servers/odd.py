"""Answers tools/list with the result that is its first argument, and a call with the bytes that the call gives in
hexadecimal digits; ID in them is the request's number. After a call for its last words it writes no newline and ends."""

import json
import sys

out = sys.stdout.buffer
for line in sys.stdin:
    message = json.loads(line)
    ident, method = message.get("id"), message.get("method")
    if ident is None:
        continue
    if method == "tools/call":
        answer = bytes.fromhex(message["params"]["arguments"]["hex"]).replace(b"ID", str(ident).encode())
    else:
        listed = {"tools/list": sys.argv[1], "initialize": json.dumps({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "odd", "version": "1"}})}
        answer = b'{"jsonrpc":"2.0","id":%d,"result":%s}' % (ident, listed[method].encode())
    last = method == "tools/call" and message["params"]["arguments"].get("last")
    out.write(answer + (b"" if last else b"\n"))
    out.flush()
    if last:
        break
