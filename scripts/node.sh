# Sourced by scripts/e2e, scripts/hosts and those in evals/: runs main.mjs of the directory NAME.d beside the script, with node.
# A missing node is no failure except where CI is true.
# shellcheck shell=sh

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P) || exit 1
name=${0##*/}

skip() {
    echo "skipped: $1; $name needs node 20 or newer, with npm"
    if [ "${CI:-}" = true ]; then
        echo "skipping is not allowed where CI=true" >&2
        exit 1
    fi
    exit 0
}

command -v node >/dev/null 2>&1 || skip "node was not found"
major=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null) || skip "node does not start"
[ "$major" -ge 20 ] 2>/dev/null || skip "node is too old ($(node --version))"
command -v npm >/dev/null 2>&1 || skip "npm was not found"

exec node "$here/$name.d/main.mjs" "$@"
