#!/usr/bin/env python3
# /// tool
# description = "Runs one SQL query on an SQLite database of the project and answers with the rows as JSON. The database can't be changed. To see which tables there are, query sqlite_master."
# display_name = "Query SQLite"
# kind = "read"
# timeout = 30
# output = "json"
#
# [params.database]
# type = "string"
# required = true
# description = "The database's file, relative to the project's root."
#
# [params.query]
# type = "string"
# required = true
# min_length = 1
# description = "One SELECT statement; ? stands for an element of values."
#
# [params.values]
# type = "array"
# items = { type = ["string", "number", "null"] }
# description = "What the question marks of the query stand for, in their order."
#
# [params.limit]
# type = "integer"
# default = 100
# minimum = 1
# maximum = 1000
# description = "The most rows to answer with."
# ///
"""Queries a database that is opened for reading only, with nothing but reading allowed."""

import json
import os
import sqlite3
import sys
from urllib.parse import quote

ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}


def main():
    args = json.load(sys.stdin)
    root = os.path.realpath(".")
    path = os.path.realpath(args["database"])
    if os.path.commonpath([root, path]) != root:
        sys.exit(f"{args['database']} lies outside of the project.")
    if not os.path.isfile(path):
        sys.exit(f"There is no database {args['database']}.")
    database = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)

    def judge(action, name, *_):
        is_allowed = action in ALLOWED and name != "load_extension"
        return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY

    database.set_authorizer(judge)
    try:
        cursor = database.execute(args["query"], args.get("values") or [])
        rows = cursor.fetchmany(args["limit"] + 1)
    except sqlite3.Error as error:
        sys.exit(f"The query failed: {error}.")
    columns = [column[0] for column in cursor.description or []]
    shown = rows[: args["limit"]]

    def plain(value):
        return f"[{len(value)} bytes]" if isinstance(value, bytes) else value

    answer = {"columns": columns, "rows": [[plain(value) for value in row] for row in shown]}
    if len(rows) > len(shown):
        answer["more"] = "There are more rows; raise limit, or narrow the query down."
    json.dump(answer, sys.stdout, ensure_ascii=False)


main()
