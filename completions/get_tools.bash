_get_tools() {
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
                cmd="get_tools"
                ;;
            get_tools,completions)
                cmd="get_tools__subcmd__completions"
                ;;
            get_tools,config)
                cmd="get_tools__subcmd__config"
                ;;
            get_tools,doctor)
                cmd="get_tools__subcmd__doctor"
                ;;
            get_tools,init)
                cmd="get_tools__subcmd__init"
                ;;
            get_tools,lint)
                cmd="get_tools__subcmd__lint"
                ;;
            get_tools,serve)
                cmd="get_tools__subcmd__serve"
                ;;
            get_tools,show)
                cmd="get_tools__subcmd__show"
                ;;
            get_tools,trust)
                cmd="get_tools__subcmd__trust"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        get_tools)
            opts="-h -V --pretty --wrap --format --color --kinds --mcp --refresh --notes --only --exclude --licenses --help --version config show lint trust init doctor serve completions"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --format)
                    COMPREPLY=($(compgen -W "gemini openai openai-responses anthropic markdown list names" -- "${cur}"))
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "auto always never" -- "${cur}"))
                    return 0
                    ;;
                --only)
                    _gemini_tools_list "${cur}"
                    return 0
                    ;;
                --exclude)
                    _gemini_tools_list "${cur}"
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        get_tools__subcmd__completions)
            opts="-h --help bash zsh fish"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        get_tools__subcmd__config)
            opts="-h --json --policy --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --policy)
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
        get_tools__subcmd__doctor)
            opts="-h --host --json --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --host)
                    COMPREPLY=($(compgen -W "agy amp claude cline codex copilot crush cursor gemini goose junie kilo kiro opencode qwen roo vscode windsurf zed" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        get_tools__subcmd__init)
            opts="-y -h --host --user --project --yes --undo --allow --trust --skill --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --host)
                    COMPREPLY=($(compgen -W "agy amp claude cline codex copilot crush cursor gemini goose junie kilo kiro opencode qwen roo vscode windsurf zed" -- "${cur}"))
                    return 0
                    ;;
                --allow)
                    COMPREPLY=($(compgen -W "read-only all none" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        get_tools__subcmd__lint)
            opts="-h --format --json --mcp --refresh --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --format)
                    COMPREPLY=($(compgen -W "text json sarif junit github" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        get_tools__subcmd__serve)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        get_tools__subcmd__show)
            if [[ ${cur} != -* ]]; then
                _gemini_tools_list "${cur}"
                return 0
            fi
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        get_tools__subcmd__trust)
            opts="-y -h --yes --status --list --remove --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --remove)
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
    complete -F _get_tools -o nosort -o bashdefault -o default get_tools
else
    complete -F _get_tools -o bashdefault -o default get_tools
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
