#!/bin/sh
# /// tool
# description = "Lists the largest files of the project, or of one of its directories, with their sizes in bytes. Use it to find out what takes up space."
# display_name = "Largest files"
# kind = "search"
# timeout = 60
#
# [params.directory]
# type = "string"
# default = "."
# description = "Where to look, relative to the project's root."
#
# [params.count]
# type = "integer"
# default = 10
# minimum = 1
# maximum = 100
# description = "How many files to list."
# ///
set -eu
case $PARAM_DIRECTORY in
    /* | .. | ../* | */.. | */../*) echo "$PARAM_DIRECTORY lies outside of the project." >&2; exit 2 ;;
esac
[ -d "$PARAM_DIRECTORY" ] || { echo "There is no directory $PARAM_DIRECTORY." >&2; exit 2; }
find "./$PARAM_DIRECTORY" -name .git -prune -o -type f -exec ls -ln {} + |
    awk '{ size = $5; $1 = $2 = $3 = $4 = $5 = $6 = $7 = $8 = ""; sub(/^ +/, ""); printf "%12d %s\n", size, $0 }' |
    sort -rn | head -n "$PARAM_COUNT" | sed 's|\./\(\./\)*||'
