# Sourced by the launchers beside it: starts an executable of this checkout, and builds it first where that is needed.
#
# An executable is current if nothing that it is built from is newer. Of the sources only the directories are looked at:
# `git pull`, and an editor that saves by renaming, change those too. That is some ninety look-ups and no process, because
# a call of a tool takes less than a millisecond altogether. A file that is changed in place is not noticed: run
# `scripts/build` after that.
#
# Each executable is built at its own first use with those that it starts, `call_tool` and `get_tools` together, and
# `serve_tools`, which reaches the network for them, when they first need it.
#
# `launcher` must be the path of the launcher itself, not of a link to it.
# shellcheck shell=sh disable=SC2154

# launch NAME [ARGUMENT]...: becomes the executable NAME.
launch() {
    launch_command=$1
    shift
    # Not tidied up: the kernel follows `..` also where the directory is reached through a link.
    launch_root=${launcher%/*}/..
    case ${CARGO_TARGET_DIR:-} in
        '') launch_target=$launch_root/target ;;
        /*) launch_target=$CARGO_TARGET_DIR ;;
        *) launch_target=$launch_root/$CARGO_TARGET_DIR ;;
    esac
    # The two start serve_tools where they need it, and a call has a time limit that is shorter than a build.
    if launch_needs_client "$@"; then
        launch_ready serve_tools "$@"
    fi
    launch_ready "$launch_command" "$@"
    # Where call_tool can say that serve_tools is to be built.
    case $launch_root in
        /*) GEMINI_TOOLS_LAUNCHERS=$launch_root/bin ;;
        *) GEMINI_TOOLS_LAUNCHERS=$PWD/$launch_root/bin ;;
    esac
    export GEMINI_TOOLS_LAUNCHERS
    exec "$launch_executable" "$@"
}

# launch_ready NAME [ARGUMENT]...: sees to it that the executable is there and current.
launch_ready() {
    launch_name=$1
    shift
    launch_find
    launch_is_current || launch_build "$@"
}

# launch_needs_client [ARGUMENT]...: whether serve_tools may be started: by call_tool for a tool of that name, by get_tools
# for `serve` and where settings have MCP servers. Only get_tools, which a host starts once, takes a process for that.
launch_needs_client() {
    case $launch_command in
        call_tool)
            for launch_argument in "$@"; do
                case $launch_argument in
                    -* | *=*) ;;
                    web_fetch | google_web_search | *__* | *_mcp_resource*) return 0 ;;
                esac
            done
            return 1
            ;;
        get_tools)
            [ "${1:-}" = serve ] || grep -qs mcpServers -- .gemini/settings.json "${GEMINI_CLI_HOME:-${HOME:-.}}/.gemini/settings.json" \
                /etc/gemini-cli/settings.json
            ;;
        *) return 1 ;;
    esac
}

# Of what was built for the system's C library, for musl and statically, the newest one.
launch_find() {
    launch_executable=$launch_target/release/$launch_name
    for launch_file in "$launch_target"/*-linux-*/release/"$launch_name"; do
        # Not in POSIX before 2024, but in every sh that is in use.
        # shellcheck disable=SC3013
        if [ -x "$launch_file" ] && ! [ "$launch_executable" -nt "$launch_file" ]; then
            launch_executable=$launch_file
        fi
    done
}

launch_is_current() {
    [ -x "$launch_executable" ] || return 1
    for launch_file in "$launch_root"/Cargo.toml "$launch_root"/Cargo.lock "$launch_root"/build.rs \
        "$launch_root"/.cargo "$launch_root"/scripts/build "$launch_root"/completions \
        "$launch_root"/src "$launch_root"/src/*/ "$launch_root"/src/*/*/ "$launch_root"/crates \
        "$launch_root"/crates/*/ "$launch_root"/crates/*/*/ "$launch_root"/crates/*/*/*/ "$launch_root"/crates/*/*/*/*/ \
        "$launch_root"/crates/*/*/*/*/*/; do
        # shellcheck disable=SC3013
        ! [ "$launch_file" -nt "$launch_executable" ] || return 1
    done
}

# Builds what is called for. Neither the caller's standard input nor its output is touched. Of several launchers at once,
# cargo lets one build and the others wait.
launch_build() {
    launch_root=$(CDPATH='' cd -- "$launch_root" && pwd -P) || launch_fail "The checkout can't be entered." "$@"
    launch_directory=$launch_target
    launch_target=$(mkdir -p -- "$launch_directory" && CDPATH='' cd -- "$launch_directory" && pwd -P) 2>/dev/null ||
        launch_fail "The directory $launch_directory can't be made." "$@"
    launch_find
    launch_log=$launch_target/launch.log
    launch_own_log=$launch_target/launch.$$.log

    launch_cargo=$(command -v cargo) || launch_cargo=${CARGO_HOME:-${HOME:-}/.cargo}/bin/cargo
    # Sources that look newer than they are, in an image without Rust for example, stop nothing.
    [ -x "$launch_cargo" ] || ! [ -x "$launch_executable" ] || return 0
    [ -x "$launch_cargo" ] ||
        launch_fail "It must be built first, but cargo was not found: install Rust, or put cargo on the PATH." "$@"
    : 2>/dev/null >"$launch_own_log" || launch_fail "The directory $launch_target can't be written to." "$@"

    # What an executable starts beside itself is built with it.
    case $launch_name in
        call_tool | get_tools) launch_names='call_tool get_tools' ;;
        run_agent) launch_names='call_tool get_tools run_agent serve_tools' ;;
        *) launch_names=$launch_name ;;
    esac
    (
        # In the checkout, because the directory of the call could bring a toolchain and a configuration of its own.
        cd -- "$launch_root" || exit 1
        PATH=${PATH:+$PATH:}${launch_cargo%/*}
        export PATH
        # A user at a terminal sees how far cargo is; for a host, standard error must stay empty.
        if [ -t 2 ]; then
            echo "$launch_name: building, this once; with two processors it takes some three minutes" >&2
        else
            CARGO_TERM_QUIET=true
            export CARGO_TERM_QUIET
            exec 2>"$launch_own_log"
        fi
        # shellcheck disable=SC2086
        exec scripts/build --target-dir "$launch_target" $launch_names
    ) </dev/null >/dev/null
    launch_status=$?
    launch_find
    launch_end=$(tail -n 20 "$launch_own_log")
    mv -f -- "$launch_own_log" "$launch_log"
    if [ "$launch_status" -ne 0 ]; then
        launch_fail "The build failed (cargo ended with status $launch_status). The whole log is $launch_log" "$@"
    elif ! [ -x "$launch_executable" ]; then
        launch_fail "The build has not made $launch_executable. Its log is $launch_log" "$@"
    fi
    # Where cargo had nothing to do, the executable would count as old for ever.
    launch_is_current || touch -c -- "$launch_executable" 2>/dev/null || :
}

# launch_fail MESSAGE [ARGUMENT]...: says why there is nothing to start, and ends.
launch_fail() {
    launch_message=$1
    shift
    printf '%s: %s\n' "$launch_name" "$launch_message" >&2
    [ -z "${launch_end:-}" ] || printf '%s\n' "$launch_end" >&2
    if [ "$launch_command" = call_tool ] && [ ! -t 1 ]; then
        launch_answer "$@"
    fi
    exit 1
}

# launch_answer [ARGUMENT]...: answers as call_tool would, for a host that reads standard output.
launch_answer() {
    case ${1:-} in
        -*) launch_tool= ;;
        *) launch_tool=${1:-} ;;
    esac
    launch_reads=true
    [ ! -t 0 ] || launch_reads=false
    for launch_argument in "$@"; do
        case $launch_argument in
            -*) ;;
            *=*) launch_reads=false ;;
        esac
    done
    # A host fails if its arguments are not read; if they are on the command line, nothing may ever come.
    ! "$launch_reads" || cat >/dev/null 2>&1 || :
    printf '{"functionResponse":{"name":"%s","response":{"error":"%s","errorType":"execution_failed"}}}\n' \
        "$(launch_escaped "$launch_tool")" "$(launch_escaped "$launch_message")"
}

# launch_escaped TEXT: as the inside of a JSON string.
launch_escaped() {
    printf '%s' "$1" | tr '[:cntrl:]' ' ' | sed 's/[\\"]/\\&/g'
}
