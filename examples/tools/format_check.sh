#!/usr/bin/env bash
# /// tool
# description = """Says which files are not formatted as the project's formatter would, and changes \
# none. Rust by rustfmt, Go by gofmt, Python by ruff or black, the web by prettier, as far as they are installed."""
# read_only = true
# stdin = "none"
# timeout = 120
#
# [params.files]
# type = "array"
# required = true
# min_items = 1
# items = { type = "string", pattern = "^[^-]" }
# description = "The files to check, relative to the project's root."
# ///

# A list arrives as JSON, one that can be taken apart without a program of its own.
mapfile -t files < <(python3 -c '
import json, os
for name in json.loads(os.environ["TOOL_FILES"]):
    print(name)')

bad=0
checked=0
skipped=()

# Whether a file is as its formatter, the rest of the words, would print it.
check() {
    local file=$1
    shift
    if ! command -v "$1" >/dev/null; then
        skipped+=("$file: $1 is not installed")
        return
    fi
    checked=$((checked + 1))
    local formatted
    if ! formatted=$("$@" <"$file" 2>&1 && printf .); then
        echo "$file: ${formatted%.}"
        bad=$((bad + 1))
    elif [ "$formatted" != "$(cat -- "$file" && printf .)" ]; then
        echo "$file is not formatted; $1 would change it:"
        printf %s "${formatted%.}" | diff -u --label now --label formatted -- "$file" - | tail -n +3 | head -n 40
        bad=$((bad + 1))
    fi
}

for file in "${files[@]}"; do
    if [ ! -f "$file" ]; then
        echo "$file: there is no such file" >&2
        exit 1
    fi
    case $file in
        *.rs) check "$file" rustfmt --edition 2024 --emit stdout ;;
        *.go) check "$file" gofmt ;;
        *.py)
            if command -v ruff >/dev/null; then
                check "$file" ruff format -
            else
                check "$file" black --quiet -
            fi
            ;;
        *.js | *.mjs | *.ts | *.tsx | *.jsx | *.json | *.css | *.html | *.md | *.yaml | *.yml)
            check "$file" prettier --stdin-filepath "$file"
            ;;
        *) skipped+=("$file: no formatter is known") ;;
    esac
done

echo "$checked checked, $bad not formatted, ${#skipped[@]} skipped"
if [ "${#skipped[@]}" -gt 0 ]; then
    printf '%s\n' "${skipped[@]}"
fi
