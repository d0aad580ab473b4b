#!/usr/bin/env python3
# /// tool
# description = """Queries an SQLite database and answers with a table. Reads only: the database is \
# opened read-only and every statement that would write is refused. Without 'sql' it answers with the schema."""
# display_name = "SQLite"
# read_only = true
# output = "tool_result"
# timeout = 60
#
# [params.database]
# required = true
# min_length = 1
# description = "The database's file, relative to the project's root."
#
# [params.sql]
# description = "One SELECT, EXPLAIN or PRAGMA statement. Values go into 'values', with ? in their places."
#
# [params.values]
# type = "array"
# items = { type = ["string", "number", "boolean", "null"] }
# description = "Values for the ? in 'sql', in their order."
# default = []
#
# [params.limit]
# type = "integer"
# minimum = 1
# maximum = 10000
# default = 100
# description = "The most rows. Default: 100."
# ///
"""Queries an SQLite database without changing it."""

import json
import os
import sqlite3
import sys
from urllib.parse import quote

SCHEMA = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name"


def cell(value):
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    return str(value).replace("\\", "\\\\").replace("|", "\\|").replace("\n", "\\n")


def as_json(value):
    return f"<{len(value)} bytes>" if isinstance(value, bytes) else value


def answer(args):
    path = args["database"]
    if not os.path.isfile(path):
        return {"error": {"message": f"There is no database {path!r}.", "type": "file_not_found"}}
    # A file of this name may hold ? and #, which mean something in an address.
    address = "file:" + quote(os.path.abspath(path)) + "?mode=ro"
    with sqlite3.connect(address, uri=True, timeout=10) as db:
        db.execute("PRAGMA query_only = ON")
        # A statement may switch that off again, but neither the mode above nor this.
        db.set_authorizer(
            lambda action, *_: sqlite3.SQLITE_DENY
            if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH)
            else sqlite3.SQLITE_OK
        )
        rows = db.execute(args.get("sql") or SCHEMA, args["values"])
        names = [column[0] for column in rows.description or []]
        taken = rows.fetchmany(args["limit"] + 1)
    more = len(taken) > args["limit"]
    taken = taken[: args["limit"]]
    lines = [" | ".join(names), " | ".join("---" for _ in names)] if names else []
    lines += [" | ".join(cell(value) for value in row) for row in taken]
    lines.append(f"({len(taken)} rows{', there are more' if more else ''})")
    return {
        "llmContent": "\n".join(lines),
        "returnDisplay": "\n".join(lines),
        "data": {"columns": names, "rows": [[as_json(v) for v in row] for row in taken], "more": more},
    }


def main():
    try:
        result = answer(json.load(sys.stdin))
    except sqlite3.Error as e:
        result = {"error": {"message": f"SQLite: {e}.", "type": "execution_failed"}}
    print(json.dumps(result))


main()
