# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_get_tools_global_optspecs
    string join \n pretty wrap format= color= kinds mcp refresh notes only= exclude= licenses h/help V/version
end

function __fish_get_tools_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_get_tools_global_optspecs) -- $cmd 2>/dev/null
    or argparse -s (__fish_get_tools_global_optspecs) -- $cmd[1..-2] 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_get_tools_using_subcommand
    set -l cmd (__fish_get_tools_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c get_tools -n "__fish_get_tools_needs_command" -l format -d 'Form of the declarations [default: list on a terminal, else gemini]' -r -f -a "gemini\t''
openai\t''
openai-responses\t''
anthropic\t''
markdown\t''
list\t''
names\t''"
complete -c get_tools -n "__fish_get_tools_needs_command" -l color -d 'When to use colours' -r -f -a "auto\t''
always\t''
never\t''"
complete -c get_tools -n "__fish_get_tools_needs_command" -l only -f -a "(__gemini_tools_list)" -d 'Only tools whose names match (globs, separated by commas)' -r
complete -c get_tools -n "__fish_get_tools_needs_command" -l exclude -f -a "(__gemini_tools_list)" -d 'No tools whose names match (globs, separated by commas)' -r
complete -c get_tools -n "__fish_get_tools_needs_command" -l pretty -d 'Indent the JSON'
complete -c get_tools -n "__fish_get_tools_needs_command" -l wrap -d 'Wrap the declarations as a request has them: [{"functionDeclarations":[…]}]'
complete -c get_tools -n "__fish_get_tools_needs_command" -l kinds -d 'Add each tool\'s kind (read, edit, execute, …), for hosts that decide by it'
complete -c get_tools -n "__fish_get_tools_needs_command" -l mcp -d 'Add the tools of the MCP servers in the settings (or GEMINI_TOOLS_MCP=1)'
complete -c get_tools -n "__fish_get_tools_needs_command" -l refresh -d 'As --mcp, but ask all servers and pairs again, and accept what they declare now'
complete -c get_tools -n "__fish_get_tools_needs_command" -l notes -d 'Say on standard error what was left out and why, as on a terminal'
complete -c get_tools -n "__fish_get_tools_needs_command" -l licenses -d 'Print the licences of all that is linked into the executables'
complete -c get_tools -n "__fish_get_tools_needs_command" -s h -l help -d 'Print help'
complete -c get_tools -n "__fish_get_tools_needs_command" -s V -l version -d 'Print version'
complete -c get_tools -n "__fish_get_tools_needs_command" -f -a "config" -d 'Prints the settings and policy files in force, and what is left out'
complete -c get_tools -n "__fish_get_tools_needs_command" -f -a "show" -d 'Shows what a tool does, what it takes, how to call it, and its errors'
complete -c get_tools -n "__fish_get_tools_needs_command" -f -a "lint" -d 'Checks your own tools and those of MCP servers, or files'
complete -c get_tools -n "__fish_get_tools_needs_command" -f -a "trust" -d 'Reviews and trusts the project\'s own tools and commands'
complete -c get_tools -n "__fish_get_tools_needs_command" -f -a "init" -d 'Sets up Gemini CLI, or another host'
complete -c get_tools -n "__fish_get_tools_needs_command" -f -a "doctor" -d 'Tries what the settings name as the host would, and says what is wrong'
complete -c get_tools -n "__fish_get_tools_needs_command" -f -a "serve" -d 'Starts serve_tools, the MCP server, with these arguments'
complete -c get_tools -n "__fish_get_tools_needs_command" -f -a "completions" -d 'Prints completions for a shell'
complete -c get_tools -n "__fish_get_tools_using_subcommand config" -l policy -d 'Policy file or directory to use instead of ~/.gemini/policies' -r
complete -c get_tools -n "__fish_get_tools_using_subcommand config" -l json -d 'Print JSON'
complete -c get_tools -n "__fish_get_tools_using_subcommand config" -s h -l help -d 'Print help'
complete -c get_tools -n "__fish_get_tools_using_subcommand show" -s h -l help -d 'Print help'
complete -c get_tools -n "__fish_get_tools_using_subcommand lint" -l format -d 'Form of the findings' -r -f -a "text\t''
json\t''
sarif\t''
junit\t''
github\t''"
complete -c get_tools -n "__fish_get_tools_using_subcommand lint" -l json -d 'Print each finding as a line of JSON'
complete -c get_tools -n "__fish_get_tools_using_subcommand lint" -l mcp -d 'Start MCP servers whose declarations are not cached'
complete -c get_tools -n "__fish_get_tools_using_subcommand lint" -l refresh -d 'Ask all MCP servers again, and accept what they declare now'
complete -c get_tools -n "__fish_get_tools_using_subcommand lint" -s h -l help -d 'Print help'
complete -c get_tools -n "__fish_get_tools_using_subcommand trust" -l remove -d 'Take trust back [default: the current directory]' -r -F
complete -c get_tools -n "__fish_get_tools_using_subcommand trust" -s y -l yes -d 'Don\'t ask'
complete -c get_tools -n "__fish_get_tools_using_subcommand trust" -l status -d 'Say whether the project is trusted, and why'
complete -c get_tools -n "__fish_get_tools_using_subcommand trust" -l list -d 'List the directories that were trusted here'
complete -c get_tools -n "__fish_get_tools_using_subcommand trust" -s h -l help -d 'Print help'
complete -c get_tools -n "__fish_get_tools_using_subcommand init" -l host -d 'The host to set up [default: gemini]' -r -f -a "agy\t''
amp\t''
claude\t''
cline\t''
codex\t''
copilot\t''
crush\t''
cursor\t''
gemini\t''
goose\t''
junie\t''
kilo\t''
kiro\t''
opencode\t''
qwen\t''
roo\t''
vscode\t''
windsurf\t''
zed\t''"
complete -c get_tools -n "__fish_get_tools_using_subcommand init" -l allow -d 'The tools that a model may call without a terminal [default: read-only]' -r -f -a "read-only\t''
all\t''
none\t''"
complete -c get_tools -n "__fish_get_tools_using_subcommand init" -l user -d 'Change your own settings, for all projects'
complete -c get_tools -n "__fish_get_tools_using_subcommand init" -l project -d 'Change the project\'s settings [default where the host reads these at once]'
complete -c get_tools -n "__fish_get_tools_using_subcommand init" -s y -l yes -d 'Don\'t ask'
complete -c get_tools -n "__fish_get_tools_using_subcommand init" -l undo -d 'Undo what init did here'
complete -c get_tools -n "__fish_get_tools_using_subcommand init" -l trust -d 'Trust the project as well, if it brings nothing else that runs'
complete -c get_tools -n "__fish_get_tools_using_subcommand init" -l skill -d 'Write a skill, from which models learn to use the tools, where the host reads it'
complete -c get_tools -n "__fish_get_tools_using_subcommand init" -s h -l help -d 'Print help'
complete -c get_tools -n "__fish_get_tools_using_subcommand doctor" -l host -d 'The host to check [default: all that are set up]' -r -f -a "agy\t''
amp\t''
claude\t''
cline\t''
codex\t''
copilot\t''
crush\t''
cursor\t''
gemini\t''
goose\t''
junie\t''
kilo\t''
kiro\t''
opencode\t''
qwen\t''
roo\t''
vscode\t''
windsurf\t''
zed\t''"
complete -c get_tools -n "__fish_get_tools_using_subcommand doctor" -l json -d 'Print JSON'
complete -c get_tools -n "__fish_get_tools_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c get_tools -n "__fish_get_tools_using_subcommand completions" -s h -l help -d 'Print help'
complete -c get_tools -n "__fish_get_tools_using_subcommand completions" -f -a "bash zsh fish"
complete -c get_tools -n "__fish_get_tools_using_subcommand show" -f -a "(get_tools complete --describe 2>/dev/null)"

function __gemini_tools_list
    set -l before (commandline -ct | string replace -rf '^(--[^=]*=)?(.*,)?.*$' '$2')
    for name in (get_tools complete --describe 2>/dev/null)
        echo $before$name
    end
end
