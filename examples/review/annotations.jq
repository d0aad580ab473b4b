# Comments of `review` as annotations of GitHub Actions: jq -r -f annotations.jq comments.json
#
# What the model says is data: a line end in it would begin another command of the workflow.
def data: gsub("%"; "%25") | gsub("\r"; "%0D") | gsub("\n"; "%0A");
def property: data | gsub(":"; "%3A") | gsub(","; "%2C");

.[]
| {error: "error", warning: "warning", note: "notice"}[.severity] as $command
| "::\($command) file=\(.file | property)\(if .line then ",line=\(.line)" else "" end)::\(.message | data)"
