_run_agent() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="run_agent"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        run_agent)
            opts="-p -m -y -o -c -h -V --prompt --model --approval-mode --yolo --allowed-tools --fail-on-refusal --policy --discovery-command --call-command --only-discovered --no-mcp --trust --record --model-script --max-turns --time-limit --output-format --session --resume --continue --no-session --report --sandbox --include-directories --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --prompt)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -p)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -m)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --approval-mode)
                    COMPREPLY=($(compgen -W "default auto_edit yolo plan" -- "${cur}"))
                    return 0
                    ;;
                --allowed-tools)
                    _gemini_tools_list "${cur}"
                    return 0
                    ;;
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --discovery-command)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --call-command)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --record)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --model-script)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --max-turns)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --time-limit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --output-format)
                    COMPREPLY=($(compgen -W "text json stream-json" -- "${cur}"))
                    return 0
                    ;;
                -o)
                    COMPREPLY=($(compgen -W "text json stream-json" -- "${cur}"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --resume)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --report)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --sandbox)
                    COMPREPLY=($(compgen -W "off read-only workspace-write" -- "${cur}"))
                    return 0
                    ;;
                --include-directories)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _run_agent -o nosort -o bashdefault -o default run_agent
else
    complete -F _run_agent -o bashdefault -o default run_agent
fi

_gemini_tools_words() {
    local line
    while IFS= read -r line; do
        [[ -z $line || $line != "$1"* ]] || COMPREPLY+=("${2-}$line")
    done
}

_gemini_tools_list() {
    local before=
    [[ $1 != *,* ]] || before=${1%,*},
    COMPREPLY=()
    _gemini_tools_words "${1##*,}" "$before" <<< "$(get_tools complete 2>/dev/null)"
}
