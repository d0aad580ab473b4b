complete -c serve_tools -l http -d 'Serve over HTTP instead of the standard streams [address: 127.0.0.1:8808]' -r
complete -c serve_tools -l host -d 'A name by which HTTP clients may call this server' -r
complete -c serve_tools -l root -d 'Work in this directory, whatever roots a client has' -r -F
complete -c serve_tools -l approval-mode -d 'Ask the client\'s user when the policy requires it [default: never ask]' -r -f -a "default\t''
auto_edit\t''
yolo\t''
plan\t''"
complete -c serve_tools -l policy -d 'Policy file or directory to use instead of ~/.gemini/policies' -r
complete -c serve_tools -l allow-remote -d 'Let --http listen where other machines can reach it'
complete -c serve_tools -l mcp -d 'Serve the tools of the MCP servers in the settings too'
complete -c serve_tools -l structured-content -d 'Give clients the data of answers and errors as structuredContent too'
complete -c serve_tools -s h -l help -d 'Print help'
complete -c serve_tools -s V -l version -d 'Print version'
