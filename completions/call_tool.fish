function __call_tool_changes
    call_tool --history --json 2>/dev/null | sed -n 's/^{"id":"\([^"]*\)".*/\1/p'
end
complete -c call_tool -s o -l output -d 'Form of the answer [default: text on a terminal, else part]' -r -f -a "part\t''
response\t''
content\t''
result\t''
text\t''
lines\t''
host\t''"
complete -c call_tool -l color -d 'When to use colours' -r -f -a "auto\t''
always\t''
never\t''"
complete -c call_tool -l id -d 'The call\'s id, for functionResponse.id' -r
complete -c call_tool -l approval-mode -d 'Ask on the terminal when the policy requires it [default: never ask]' -r -f -a "default\t''
auto_edit\t''
yolo\t''
plan\t''"
complete -c call_tool -l policy -d 'Policy file or directory to use instead of ~/.gemini/policies' -r
complete -c call_tool -l from -d 'Read the call in another API\'s form, and answer in it' -r -f -a "openai\t''
anthropic\t''"
complete -c call_tool -l format -d 'Print what a search finds for CI; github: annotations of GitHub Actions' -r -f -a "sarif\t''
junit\t''
github\t''"
complete -c call_tool -l check -d 'Check files by the rules of these TOML files, all in one walk' -r -F
complete -c call_tool -l files-from -d 'Check only these files: a list by lines or NULs, - for standard input' -r -F
complete -c call_tool -l changed -d 'Check only the files that differ from where HEAD left this commit or branch' -r
complete -c call_tool -l changed-lines -d 'Check only these files, and only the lines that were added' -r
complete -c call_tool -l max -d 'Matches that a search may have before it fails' -r
complete -c call_tool -l fail-level -d 'With --check: lowest level that fails [default: error]' -r -f -a "error\t''
warning\t''
note\t''"
complete -c call_tool -l baseline -d 'With --check: file with known findings, which don\'t count' -r -F
complete -c call_tool -l rule-id -d 'Name of the broken rule in a report [default: the tool\'s name]' -r
complete -c call_tool -l message -d 'Message for each match in a report, with the text that was found below it or for {text} [default: that text]' -r
complete -c call_tool -l level -d 'Severity of a match in a report [default: error]' -r -f -a "error\t''
warning\t''
note\t''"
complete -c call_tool -l root -d 'Work in this directory instead of the current one' -r -F
complete -c call_tool -l history -d 'List what tools have changed in this project, or below PATH, newest first' -r
complete -c call_tool -l undo -f -k -a "(__call_tool_changes)" -d 'Undo the latest change (of PATH), or those with these IDs; --explain previews' -r
complete -c call_tool -l since -d 'With --history or --undo: only changes of the last 10m, 2h, 3d, ...' -r
complete -c call_tool -l session -d 'With --history or --undo: only changes of this session' -r
complete -c call_tool -s t -d 'Print text, as --output text'
complete -c call_tool -s 0 -l null -d 'Print the paths of what is found, each once and ended by NUL, for xargs -0'
complete -c call_tool -l explain -d 'Say what the call would do, without doing it'
complete -c call_tool -l strict -d 'Refuse arguments in JSON that the tool does not know'
complete -c call_tool -l stream -d 'Print JSON lines: output while the tool runs, then the result'
complete -c call_tool -l batch -d 'Read calls as JSON lines from standard input and answer each with a line'
complete -c call_tool -l fail-on-match -d 'Exit 1 if a search finds anything, 0 if not, 2 on failure'
complete -c call_tool -l files-without-match -d 'Find the files that a search does not match'
complete -c call_tool -l update-baseline -d 'Write the baseline, or take out of it what is gone'
complete -c call_tool -l propagate-status -d 'End with the command\'s own exit status; 125 is a failure of call_tool'
complete -c call_tool -s h -l help -d 'Print help, about the tool where one is named'
complete -c call_tool -l json -d 'With --history or --undo: print JSON lines'
complete -c call_tool -l all -d 'With --history: list the changes in all projects'
complete -c call_tool -l prune-history -d 'Trim the journal now (normally automatic)'
complete -c call_tool -s V -l version -d 'Print version'

function __call_tool_name
    set -l is_value 0
    for word in (commandline -opc)[2..]
        if test $is_value = 1
            set is_value 0
            continue
        end
        switch $word
            case -o --output --color --id --approval-mode --policy --from --format --check --files-from --changed --changed-lines --max --fail-level --baseline --rule-id --message --level --root --history --undo --since --session
                set is_value 1
            case '-*'
            case '*'
                echo $word
                return 0
        end
    end
    return 1
end
complete -c call_tool -n "not __call_tool_name >/dev/null" -f -a "(get_tools complete --describe 2>/dev/null)"
complete -c call_tool -n "__call_tool_name >/dev/null" -a "(get_tools complete --describe -- (__call_tool_name) 2>/dev/null)"
