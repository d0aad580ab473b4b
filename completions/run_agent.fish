complete -c run_agent -s p -l prompt -d 'The same as PROMPT' -r
complete -c run_agent -s m -l model -d 'The model to ask [default: gemini-2.5-pro]' -r
complete -c run_agent -l approval-mode -d 'Which calls need the user\'s approval [default: default]' -r -f -a "default\t''
auto_edit\t''
yolo\t''
plan\t''"
complete -c run_agent -l allowed-tools -f -a "(__gemini_tools_list)" -d 'Tools that need no approval, such as replace or \'run_shell_command(git)\'' -r
complete -c run_agent -l policy -d 'Policy files or directories to use instead of ~/.gemini/policies' -r -F
complete -c run_agent -l discovery-command -d 'Prints the declarations of the tools' -r
complete -c run_agent -l call-command -d 'Runs a call: its name as argument, its arguments on standard input' -r
complete -c run_agent -l record -d 'Record the run as a model script: the model\'s turns, and what the tools answered' -r -F
complete -c run_agent -l model-script -d 'Play turns of a file, or - for standard input, in the model\'s place, as YAML or JSON; the tools run' -r -F
complete -c run_agent -l max-turns -d 'End the session after so many turns of the model' -r
complete -c run_agent -l time-limit -d 'End the session after so many seconds' -r
complete -c run_agent -s o -l output-format -d 'Form of the output' -r -f -a "text\t''
json\t''
stream-json\t''"
complete -c run_agent -l session -d 'Keep the session in this file' -r -F
complete -c run_agent -l resume -d 'Go on with the session in this file' -r -F
complete -c run_agent -l report -d 'Write the session as an HTML page' -r -F
complete -c run_agent -l sandbox -d 'Sandbox for shell commands [default: workspace-write]' -r -f -a "off\t''
read-only\t''
workspace-write\t''"
complete -c run_agent -l include-directories -d 'More directories for tools to work in' -r -F
complete -c run_agent -s y -l yolo -d 'As --approval-mode yolo: nothing asks'
complete -c run_agent -l fail-on-refusal -d 'End with status 3 if the rules refused a call, or no user could approve it'
complete -c run_agent -l only-discovered -d 'Use the tools of the discovery command alone, without the built-in ones'
complete -c run_agent -l no-mcp -d 'Ignore the MCP servers in the settings'
complete -c run_agent -l trust -d 'Let the project\'s settings name commands, allow tools and weaken the sandbox'
complete -c run_agent -s c -l continue -d 'Go on with the newest session of this directory'
complete -c run_agent -l no-session -d 'Keep no session; without this, each is kept for a week below ~/.gemini/tmp'
complete -c run_agent -s h -l help -d 'Print help'
complete -c run_agent -s V -l version -d 'Print version'

function __gemini_tools_list
    set -l before (commandline -ct | string replace -rf '^(--[^=]*=)?(.*,)?.*$' '$2')
    for name in (get_tools complete --describe 2>/dev/null)
        echo $before$name
    end
end
