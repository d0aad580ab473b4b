_call_tool() {
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
                cmd="call_tool"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        call_tool)
            opts="-o -t -0 -h -V --output --null --color --id --approval-mode --policy --explain --strict --stream --batch --from --fail-on-match --format --check --files-from --changed --changed-lines --files-without-match --max --fail-level --baseline --update-baseline --rule-id --message --level --root --propagate-status --help --history --undo --since --session --json --all --prune-history --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --output)
                    COMPREPLY=($(compgen -W "part response content result text lines host" -- "${cur}"))
                    return 0
                    ;;
                -o)
                    COMPREPLY=($(compgen -W "part response content result text lines host" -- "${cur}"))
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --id)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --approval-mode)
                    COMPREPLY=($(compgen -W "default auto_edit yolo plan" -- "${cur}"))
                    return 0
                    ;;
                --policy)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --from)
                    COMPREPLY=($(compgen -W "openai anthropic" -- "${cur}"))
                    return 0
                    ;;
                --format)
                    COMPREPLY=($(compgen -W "sarif junit github" -- "${cur}"))
                    return 0
                    ;;
                --check)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --files-from)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --changed)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --changed-lines)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --max)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --fail-level)
                    COMPREPLY=($(compgen -W "error warning note" -- "${cur}"))
                    return 0
                    ;;
                --baseline)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --rule-id)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --message)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --level)
                    COMPREPLY=($(compgen -W "error warning note" -- "${cur}"))
                    return 0
                    ;;
                --root)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --history)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --undo)
                    _gemini_tools_words "${cur}" <<< "$(call_tool --history --json 2>/dev/null | sed -n 's/^{"id":"\([^"]*\)".*/\1/p')"
                    return 0
                    ;;
                --since)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --session)
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
    complete -F _call_tool -o nosort -o bashdefault -o default call_tool
else
    complete -F _call_tool -o bashdefault -o default call_tool
fi

_gemini_tools_words() {
    local line
    while IFS= read -r line; do
        [[ -z $line || $line != "$1"* ]] || COMPREPLY+=("${2-}$line")
    done
}

_call_tool_with_tools() {
    local word name= is_value=false
    _call_tool "$@"
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        if $is_value; then
            [[ $word == '=' ]] || is_value=false
            continue
        fi
        case $word in
            -o|--output|--color|--id|--approval-mode|--policy|--from|--format|--check|--files-from|--changed|--changed-lines|--max|--fail-level|--baseline|--rule-id|--message|--level|--root|--history|--undo|--since|--session) is_value=true ;;
            -*) ;;
            *) name=${name:-$word} ;;
        esac
    done
    ! $is_value || return 0
    word=${COMP_LINE:0:COMP_POINT}
    word=${word##*[[:space:]]}
    if [[ -z $name ]]; then
        _gemini_tools_words "$word" <<< "$(get_tools complete 2>/dev/null)"
    elif [[ $word == -* ]]; then
        return 0
    elif [[ $word == *:=* ]]; then
        COMPREPLY=()
        compopt +o default +o bashdefault 2>/dev/null
    elif [[ $word == *=* ]]; then
        local key=
        [[ $COMP_WORDBREAKS == *=* ]] || key=${word%%=*}=
        COMPREPLY=()
        _gemini_tools_words '' "$key" <<< "$(compgen -f -- "${word#*=}")"
        compopt -o filenames 2>/dev/null
    else
        COMPREPLY=()
        _gemini_tools_words "$word" <<< "$(get_tools complete -- "$name" 2>/dev/null)"
        [[ ${#COMPREPLY[@]} -eq 0 ]] || compopt -o nospace 2>/dev/null
    fi
    return 0
}

complete -F _call_tool_with_tools -o nosort -o bashdefault -o default call_tool
