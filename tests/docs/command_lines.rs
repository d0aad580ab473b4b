//! What clap knows of our command lines, and the completions for shells that are made from it; `manual_pages` has the
//! manual pages.
//!
//! A new executable adds its `command.rs` here; a test fails until it does.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Command;
use clap_complete::{Shell, generate};
use gemini_tools_executables::{call_tool, get_tools, run_agent, serve_tools};
use serde_json::json;

use crate::harness::{Answer, Workspace, executable, hold_generated, set_mode, skipped};

const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// Every command line there is.
pub(crate) fn all() -> Vec<Command> {
    vec![
        get_tools::command(),
        call_tool::command(),
        run_agent::command(),
        serve_tools::command(),
    ]
}

pub(crate) fn in_checkout(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

pub(crate) fn read(name: &str) -> String {
    fs::read_to_string(in_checkout(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn the_command_line_of_every_executable_is_looked_at() {
    let known: BTreeSet<String> = all().iter().map(|c| c.get_name().to_owned()).collect();
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(in_checkout("src/bin")).expect("the executables") {
        let path = entry.expect("its entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy();
        found.insert(name.into_owned());
    }
    assert_eq!(known, found);
}

/// The name of the file with a command's completions for a shell.
fn file_name(shell: Shell, command: &str) -> String {
    match shell {
        Shell::Zsh => format!("completions/_{command}"),
        shell => format!("completions/{command}.{shell}"),
    }
}

/// The completions as clap has them, with tools and their arguments.
fn generated(shell: Shell, command: &mut Command) -> String {
    let name = command.get_name().to_owned();
    let mut bytes = Vec::new();
    generate(shell, command, name.clone(), &mut bytes);
    let mut text = String::from_utf8(bytes).expect("completions are text");
    match shell {
        Shell::Fish => text = with_values(command, &text),
        // Options of a subcommand are not those of the same name before it.
        Shell::Zsh if command.has_subcommands() => {
            let arguments = "_arguments \"${_arguments_options[@]}\"";
            text = text.replacen(arguments, &format!("{arguments} -A \"-*\""), 1);
        }
        _ => {}
    }
    text = with_tools(shell, command, text);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    format!("{}\n", lines.join("\n").trim_end())
}

/// What the generator leaves out for fish: the value of an option before any subcommand, and values of arguments that
/// are not options.
fn with_values(command: &Command, text: &str) -> String {
    let name = command.get_name();
    let parse = format!("argparse -s (__fish_{name}_global_optspecs) --");
    // A last option whose value is still to come is not a fault.
    let mut text = text.replace(
        &format!("{parse} $cmd 2>/dev/null\n    or return\n"),
        &format!(
            "{parse} $cmd 2>/dev/null\n    or {parse} $cmd[1..-2] 2>/dev/null\n    or return\n"
        ),
    );
    for subcommand in command.get_subcommands() {
        for argument in subcommand.get_positionals() {
            let values = argument.get_possible_values();
            if values.is_empty() {
                continue;
            }
            let values: Vec<&str> = values
                .iter()
                .map(clap::builder::PossibleValue::get_name)
                .collect();
            text.push_str(&format!(
                "complete -c {name} -n \"__fish_{name}_using_subcommand {}\" -f -a \"{}\"\n",
                subcommand.get_name(),
                values.join(" ")
            ));
        }
    }
    text
}

/// Options that take names of tools, or a list of them.
const NAMES_OF_TOOLS: [&str; 3] = ["only", "exclude", "allowed-tools"];

/// The names of tools after the options that take such, and for `call_tool` also its arguments and files after
/// `KEY=`: `get_tools complete` knows those of this project and of its MCP servers.
fn with_tools(shell: Shell, command: &Command, mut text: String) -> String {
    let lists = command.get_arguments().filter_map(clap::Arg::get_long);
    let lists: Vec<&str> = lists.filter(|name| NAMES_OF_TOOLS.contains(name)).collect();
    for name in &lists {
        let (from, to) = match shell {
            Shell::Bash => (
                format!("--{name})\n                    COMPREPLY=($(compgen -f \"${{cur}}\"))"),
                format!("--{name})\n                    _gemini_tools_list \"${{cur}}\""),
            ),
            Shell::Zsh => (String::new(), String::new()),
            _ => (
                format!(" -l {name} "),
                format!(" -l {name} -f -a \"(__gemini_tools_list)\" "),
            ),
        };
        if shell == Shell::Zsh {
            let option = format!("--{name}=[");
            let start = text.find(&option).expect("the option");
            let end = start + text[start..].find(":_default").expect("what completes it");
            text.replace_range(end..end + ":_default".len(), ":_gemini_tools_list");
        } else {
            assert!(text.contains(&from), "{shell}: {from}");
            text = text.replace(&from, &to);
        }
    }
    let is_call_tool = command.get_name() == "call_tool";
    if is_call_tool {
        text = with_changes(shell, &text);
    }
    if command.get_name() == "get_tools" {
        text = with_shown_tool(shell, text);
    }
    if shell == Shell::Zsh {
        let mut functions = String::new();
        if !lists.is_empty() {
            functions.push_str(ZSH_LIST);
        }
        if is_call_tool {
            functions.push_str(ZSH_ARGUMENTS);
            for (id, function) in [
                ("::NAME", "_call_tool_names"),
                ("::ARGUMENT", "_call_tool_arguments"),
            ] {
                let from = text.find(id).expect("an argument");
                let to = from + text[from..].find(":_default").expect("what completes it");
                text.replace_range(to..to + ":_default".len(), &format!(":{function}"));
            }
        }
        let end = text.find("if [ \"$funcstack[1]\"").expect("the call");
        text.insert_str(end, &functions);
        return text;
    }
    let (list, arguments, gap) = match shell {
        Shell::Bash => (BASH_LIST, BASH_ARGUMENTS, "|"),
        _ => (FISH_LIST, FISH_ARGUMENTS, " "),
    };
    if shell == Shell::Bash && (is_call_tool || !lists.is_empty()) {
        text.push_str(BASH_WORDS);
    }
    if !lists.is_empty() {
        text.push_str(list);
    }
    if is_call_tool {
        let mut with_values: Vec<String> = Vec::new();
        for argument in command.get_arguments().filter(|a| !a.is_positional()) {
            if argument.get_action().takes_values() {
                with_values.extend(argument.get_short().map(|c| format!("-{c}")));
                with_values.extend(argument.get_long().map(|l| format!("--{l}")));
            }
        }
        text.push_str(&arguments.replace("OPTIONS", &with_values.join(gap)));
    }
    text
}

/// The ids of the journal after `--undo`, the newest first.
const CHANGES: &str =
    r#"call_tool --history --json 2>/dev/null | sed -n 's/^{"id":"\([^"]*\)".*/\1/p'"#;

fn with_changes(shell: Shell, text: &str) -> String {
    let replaced = match shell {
        Shell::Bash => text.replace(
            "--undo)\n                    COMPREPLY=($(compgen -f \"${cur}\"))",
            &format!(
                "--undo)\n                    _gemini_tools_words \"${{cur}}\" <<< \"$({CHANGES})\""
            ),
        ),
        Shell::Zsh => {
            let start = text.find("--undo=[").expect("the option");
            let (before, after) = text.split_at(start);
            let end = "if [ \"$funcstack[1]\"";
            let function = format!(
                "_call_tool_changes() {{\n    compadd -V changes -- ${{(f)\"$({CHANGES})\"}}\n}}\n\n"
            );
            let after = after.replacen("::PATH|ID:_default", "::ID:_call_tool_changes", 1);
            // No tool is named beside it.
            format!(
                "{before}(: *){}",
                after.replacen(end, &format!("{function}{end}"), 1)
            )
        }
        _ => {
            let from = " -l undo ";
            let to = " -l undo -f -k -a \"(__call_tool_changes)\" ";
            format!(
                "function __call_tool_changes\n    {CHANGES}\nend\n{}",
                text.replace(from, to)
            )
        }
    };
    assert!(replaced != text, "{shell}");
    replaced
}

/// The names of tools after `get_tools show`.
fn with_shown_tool(shell: Shell, mut text: String) -> String {
    match shell {
        Shell::Bash => {
            let from = "get_tools__subcmd__show)\n            opts=\"-h --help\"";
            assert!(text.contains(from));
            let to = "get_tools__subcmd__show)\n            if [[ ${cur} != -* ]]; then\n                \
                 _gemini_tools_list \"${cur}\"\n                return 0\n            fi\n            \
                 opts=\"-h --help\"";
            text.replace(from, to)
        }
        Shell::Zsh => {
            let start = text.find("\n(show)\n").expect("the subcommand");
            let from = start + text[start..].find(":_default").expect("its argument");
            text.replace_range(from..from + ":_default".len(), ":_gemini_tools_list");
            text
        }
        _ => {
            text.push_str(
                "complete -c get_tools -n \"__fish_get_tools_using_subcommand show\" -f -a \
                 \"(get_tools complete --describe 2>/dev/null)\"\n",
            );
            text
        }
    }
}

/// The words are compared and kept as they are: `compgen -W` would expand them.
const BASH_WORDS: &str = r#"
_gemini_tools_words() {
    local line
    while IFS= read -r line; do
        [[ -z $line || $line != "$1"* ]] || COMPREPLY+=("${2-}$line")
    done
}
"#;

const BASH_LIST: &str = r#"
_gemini_tools_list() {
    local before=
    [[ $1 != *,* ]] || before=${1%,*},
    COMPREPLY=()
    _gemini_tools_words "${1##*,}" "$before" <<< "$(get_tools complete 2>/dev/null)"
}
"#;

/// What is after `=` is a word of its own for bash, so that the line says what is being typed.
const BASH_ARGUMENTS: &str = r#"
_call_tool_with_tools() {
    local word name= is_value=false
    _call_tool "$@"
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        if $is_value; then
            [[ $word == '=' ]] || is_value=false
            continue
        fi
        case $word in
            OPTIONS) is_value=true ;;
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
"#;

const ZSH_LIST: &str = r#"_gemini_tools_list() {
    local -a names
    compset -P '*,'
    names=(${(f)"$(get_tools complete --describe 2>/dev/null)"})
    names=(${${names//:/\\:}//$'\t'/:})
    _describe -t tools tool names
}

"#;

const ZSH_ARGUMENTS: &str = r#"_call_tool_names() {
    local -a names
    names=(${(f)"$(get_tools complete --describe 2>/dev/null)"})
    names=(${${names//:/\\:}//$'\t'/:})
    _describe -t tools tool names
}

_call_tool_arguments() {
    local -a keys
    if compset -P 1 '*='; then
        _files
        return
    fi
    keys=(${(f)"$(get_tools complete --describe -- ${words[1]} 2>/dev/null)"})
    keys=(${${keys//:/\\:}//$'\t'/:})
    _describe -t arguments argument keys -S '' || _files
}

"#;

const FISH_LIST: &str = r"
function __gemini_tools_list
    set -l before (commandline -ct | string replace -rf '^(--[^=]*=)?(.*,)?.*$' '$2')
    for name in (get_tools complete --describe 2>/dev/null)
        echo $before$name
    end
end
";

const FISH_ARGUMENTS: &str = r#"
function __call_tool_name
    set -l is_value 0
    for word in (commandline -opc)[2..]
        if test $is_value = 1
            set is_value 0
            continue
        end
        switch $word
            case OPTIONS
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
"#;

#[test]
fn generated_completions_are_current() {
    for mut command in all() {
        let name = command.get_name().to_owned();
        for shell in SHELLS {
            let file = file_name(shell, &name);
            let wanted = generated(shell, &mut command);
            hold_generated(&file, &wanted);
        }
    }
}

fn completions(ws: &Workspace, args: &[&str]) -> Answer {
    ws.get_tools(&["completions"]).flags(args).run()
}

#[test]
fn get_tools_prints_the_completions_of_one_command_or_of_all() {
    let ws = Workspace::new();
    for shell in SHELLS {
        let mut together = String::new();
        for command in all() {
            let file = read(&file_name(shell, command.get_name()));
            let one = completions(&ws, &[&shell.to_string(), command.get_name()]);
            assert_eq!((one.status(), one.text()), (0, &*file));
            together.push_str(&file);
        }
        assert_eq!(completions(&ws, &[&shell.to_string()]).text(), together);
    }
    for (args, said) in [
        (&["tcsh"][..], "bash, zsh, fish"),
        (&[], "SHELL"),
        (&["bash", "no_such"], "call_tool"),
    ] {
        let answer = completions(&ws, args);
        assert_eq!((answer.status(), answer.stdout.len()), (2, 0), "{args:?}");
        answer.must_say(&answer.errors(), &[said]);
    }
}

/// What a shell offers for a line that is being typed; none where there is no such shell.
fn offered(shell: &str, ws: &Workspace, line: &str) -> Option<BTreeSet<String>> {
    offered_with(shell, ws, line, None)
}

/// Returns a `PATH` with our executables before others, and with a directory before them.
fn path_with(first: Option<PathBuf>) -> String {
    let get_tools = executable("get_tools");
    let ours = get_tools.parent().expect("a directory").to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let others: Vec<PathBuf> = std::env::split_paths(&others).collect();
    let path = first.into_iter().chain([ours]).chain(others);
    let path = std::env::join_paths(path).expect("paths without colons");
    path.into_string().expect("UTF-8")
}

/// Does as [`offered`], with the programs of a directory before ours.
fn offered_with(
    shell: &str,
    ws: &Workspace,
    line: &str,
    first: Option<PathBuf>,
) -> Option<BTreeSet<String>> {
    let version = std::process::Command::new(shell).arg("--version").output();
    if version.is_err() {
        skipped(shell);
        return None;
    }
    let bash = r#"
        source <(get_tools completions bash) || exit 1
        read -ra COMP_WORDS <<< "$(sed -E 's/:=|=/ & /g' <<< "$1")"; [[ $1 != *' ' ]] || COMP_WORDS+=('')
        COMP_LINE=$1; COMP_POINT=${#1}
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
        function=$(complete -p "${COMP_WORDS[0]}" | sed 's/.*-F \([^ ]*\).*/\1/')
        "$function" "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let fish = "get_tools completions fish | source; complete -C $argv[1] | string replace -r '\\t.*' ''; true";
    let zsh = in_checkout("tests/completions/complete.zsh");
    let (zsh, functions) = (zsh.to_string_lossy(), in_checkout("completions"));
    let arguments = match shell {
        "bash" => vec!["-c", bash, "bash", line],
        "fish" => vec!["--no-config", "-c", fish, line],
        _ => vec!["-f", &zsh, functions.to_str().expect("UTF-8"), line],
    };
    let program = ws.program(Path::new(shell), &arguments).unwatched();
    let answer = program
        .env("PATH", &path_with(first))
        .env("TERM", "dumb")
        .run();
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    assert!(answer.stderr.is_empty(), "{}", answer.shown());
    let lines = answer.text().lines().filter(|line| !line.is_empty());
    Some(lines.map(str::to_owned).collect())
}

#[track_caller]
fn completes_options_values_and_tools(shell: &str) {
    let ws = Workspace::new().file("notes.md", "").home(
        ".gemini/tools/reader.toml",
        "description = \"d\"\ncommand = [\"true\"]\nparams.size.type = \"integer\"\n",
    );
    let lines = [
        (
            "call_tool read",
            &[
                "read_background_output",
                "read_file",
                "read_many_files",
                "reader",
            ][..],
        ),
        ("call_tool read_file abs", &["absolute_path="]),
        ("call_tool --strict reader siz", &["size="]),
        ("call_tool search_file_content names", &["names_only="]),
        ("get_tools --only read_f", &["read_file"]),
        ("get_tools --exclude glob,write_", &["glob,write_file"]),
        ("run_agent --allowed-tools reade", &["reader"]),
        ("call_tool --fr", &["--from"]),
        ("call_tool --from an", &["anthropic"]),
        ("get_tools --format open", &["openai", "openai-responses"]),
        ("get_tools tr", &["trust"]),
        ("get_tools show read_f", &["read_file"]),
        ("get_tools completions z", &["zsh"]),
        ("get_tools lint --format sa", &["sarif"]),
        ("run_agent --sandbox re", &["read-only"]),
        ("serve_tools --allow", &["--allow-remote"]),
    ];
    let completes = |(line, wanted): &(&str, &[&str])| {
        let Some(offered) = offered(shell, &ws, line) else {
            return false;
        };
        // zsh completes the last name of a list and leaves the others alone.
        let last = |name: &str| name.strip_prefix("glob,").unwrap_or(name).to_owned();
        let offered: BTreeSet<String> = offered.iter().map(|name| last(name)).collect();
        let wanted: BTreeSet<String> = wanted.iter().map(|name| last(name)).collect();
        assert_eq!(offered, wanted, "{shell}: {line}");
        true
    };
    // A start of zsh takes its time.
    let (first, second) = lines.split_at(lines.len() / 2);
    let is_there = std::thread::scope(|scope| {
        let other = scope.spawn(|| second.iter().all(completes));
        first.iter().all(completes) && other.join().expect("completed")
    });
    if !is_there {
        return;
    }
    let file = offered(shell, &ws, "call_tool read_file absolute_path=notes").unwrap_or_default();
    let is_file = |name: &String| name.trim_start_matches("absolute_path=") == "notes.md";
    assert!(
        file.iter().all(is_file) && file.len() == 1,
        "{shell}: {file:?}"
    );
    let written = ws.call_tool(&["write_file", "file_path=new.txt", "content=x"]);
    assert_eq!(written.unwatched().run().status(), 0);
    let history = ws.call_tool(&["--history", "--json"]).run();
    let change: serde_json::Value = serde_json::from_str(history.text()).expect("one change");
    let ids = offered(shell, &ws, "call_tool --undo ").unwrap_or_default();
    let id = change["id"].as_str().expect("an id").to_owned();
    assert_eq!(ids, BTreeSet::from([id]), "{shell}");
    let second = offered(shell, &ws, "call_tool glob read").unwrap_or_default();
    assert!(!second.contains("read_file"), "{shell}: {second:?}");
}

#[test]
fn bash_completes_options_values_and_names_of_tools() {
    completes_options_values_and_tools("bash");
    let ws = Workspace::new();
    let after_options = offered("bash", &ws, "call_tool --strict --id x gl");
    assert!(after_options.is_none_or(|names| names.contains("glob")));
}

#[test]
fn zsh_completes_options_values_and_names_of_tools() {
    completes_options_values_and_tools("zsh");
}

#[test]
fn fish_completes_options_values_and_names_of_tools() {
    completes_options_values_and_tools("fish");
}

/// Names that a shell would run as commands; `MARK` stands for the file that they make.
const HOSTILE: [&str; 12] = [
    "$(touch${IFS}MARK)",
    "`touch${IFS}MARK`",
    "${x:=$(touch${IFS}MARK)}",
    "$((a[$(touch${IFS}MARK)]))",
    "'$(touch${IFS}MARK)'",
    "\"$(touch${IFS}MARK)\"",
    "{$(touch${IFS}MARK),b}",
    "a$(touch${IFS}MARK)b",
    "(touch MARK)",
    "${(e):-$(touch${IFS}MARK)}",
    "=(touch${IFS}MARK)",
    "a;touch${IFS}MARK;",
];

#[track_caller]
fn runs_nothing_that_names_say(shell: &str) {
    let ws = Workspace::new();
    let mark = ws.outside_path("mark");
    let hostile = HOSTILE.map(|name| name.replace("MARK", &mark));
    let mut properties = json!({"fine": {"type": "string", "description": hostile.join(" ")}});
    for name in &hostile {
        properties[name] = json!({"enum": hostile, "description": hostile[0]});
    }
    let schema = json!({"type": "object", "properties": properties});
    let tool = |name: &str| json!({"name": name, "description": hostile[1], "inputSchema": schema});
    let tools: Vec<_> = hostile
        .iter()
        .map(|name| tool(name))
        .chain([tool("look")])
        .collect();
    let server = format!(
        "import json, sys\n\
         for line in sys.stdin:\n\
         \x20   m = json.loads(line)\n\
         \x20   r = {{'tools': json.loads({:?})}} if m['method'] == 'tools/list' else \
         {{'protocolVersion': '2025-06-18', 'capabilities': {{'tools': {{}}}}, \
         'serverInfo': {{'name': 's', 'version': '1'}}}}\n\
         \x20   if 'id' in m: print(json.dumps({{'jsonrpc': '2.0', 'id': m['id'], 'result': r}}), flush=True)\n",
        json!(tools).to_string()
    );
    let ws = ws.outside("server.py", server);
    let entry = json!({"command": "python3", "args": [ws.outside_path("server.py")]});
    let settings = json!({"mcpServers": {"s": entry}}).to_string();
    let ws = ws.home(".gemini/settings.json", settings);
    // What is known of servers is kept for the environment of the shell.
    let list = ws.program(Path::new("bash"), &["-c", "get_tools --mcp"]);
    let list = list.env("PATH", &path_with(None)).env("TERM", "dumb");
    let listed = list.unwatched().run();
    assert!(listed.text().contains("s__look"), "{}", listed.shown());
    // Whatever get_tools says, it is no code for the shell.
    let real = executable("get_tools");
    let lines = hostile.iter().map(|name| format!("{name}\t{name}\n"));
    let ws = ws.outside("names", lines.collect::<String>());
    let stub = format!(
        "#!/bin/sh\n[ \"$1\" = complete ] || exec '{}' \"$@\"\ncat '{}'\n",
        real.display(),
        ws.outside_path("names")
    );
    let ws = ws.outside("stub/get_tools", stub);
    let stubs = PathBuf::from(ws.outside_path("stub"));
    set_mode(&stubs.join("get_tools"), 0o755);
    for line in [
        "call_tool ",
        "call_tool s__",
        "call_tool s__look ",
        "call_tool s__look f",
        "call_tool s__look a",
        "call_tool s__look fine=",
        "get_tools show ",
        "get_tools --only ",
        "get_tools --only s__look,",
        "run_agent --allowed-tools ",
    ] {
        for first in [None, Some(stubs.clone())] {
            let is_ours = first.is_none();
            let Some(offered) = offered_with(shell, &ws, line, first) else {
                return;
            };
            assert!(
                !Path::new(&mark).exists(),
                "{shell}: {line} runs what a name says"
            );
            if is_ours && line == "call_tool s__look f" {
                assert_eq!(offered, BTreeSet::from(["fine=".to_owned()]), "{shell}");
            }
            let odd = offered.iter().find(|word| word.contains(['$', '`', ';']));
            assert!(!is_ours || odd.is_none(), "{shell}: {line} offers {odd:?}");
        }
    }
}

#[test]
fn bash_runs_nothing_that_names_say() {
    runs_nothing_that_names_say("bash");
}

#[test]
fn zsh_runs_nothing_that_names_say() {
    runs_nothing_that_names_say("zsh");
}

#[test]
fn fish_runs_nothing_that_names_say() {
    runs_nothing_that_names_say("fish");
}

#[test]
fn no_word_of_a_command_line_commands_the_terminal() {
    let hostile = "\u{1b}]0;P\u{7}\u{1b}[2J\u{9b}31m\u{202e}\u{e0041}\r";
    let ws = Workspace::new();
    for (program, status) in [
        ("get_tools", 2),
        ("call_tool", 2),
        ("serve_tools", 2),
        ("run_agent", 42),
    ] {
        let option = format!("--x{hostile}");
        let value = format!("--approval-mode={hostile}");
        let policy = format!("nowhere{hostile}.toml");
        let mut lines = vec![vec![option.as_str()]];
        if program != "get_tools" {
            lines.push(vec![&value]);
        }
        if program == "call_tool" {
            lines.push(vec!["read_file", &option]);
        }
        if program == "run_agent" {
            lines.push(vec!["--policy", &policy, "Go"]);
            lines.push(vec!["--model-script", &policy, "Go"]);
        }
        for words in lines {
            let call = ws.program(&executable(program), &words).unwatched();
            let shown = call
                .env("TERM", "xterm")
                .at_a_terminal()
                .sees_it_end(status);
            let is_odd = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{e0041}".contains(c);
            let lines = shown.replace("\r\n", "\n");
            assert!(!lines.contains(is_odd), "{program} {words:?}: {lines:?}");
            assert!(lines.contains("1b"), "{program} {words:?}: {lines:?}");
        }
    }
}

#[test]
fn zsh_and_fish_can_read_theirs() {
    let ws = Workspace::new();
    for shell in ["zsh", "fish"] {
        let version = std::process::Command::new(shell).arg("--version").output();
        if version.is_err() {
            skipped(shell);
            continue;
        }
        for command in all() {
            let text = completions(&ws, &[shell, command.get_name()])
                .text()
                .to_owned();
            let ws = Workspace::new().file("script", text);
            let answer = ws.program(Path::new(shell), &["-n", "script"]).run();
            assert_eq!(answer.status(), 0, "{}", answer.shown());
        }
    }
}

/// What `--help` prints in that width, of every command and subcommand, with the text below the options as it stands.
fn helps(width: usize) -> Vec<(String, String)> {
    let printed = |command: &mut Command| {
        let below = command.get_after_help().map(ToString::to_string);
        let help = command.render_long_help().to_string();
        (help, below.unwrap_or_default())
    };
    let mut helps = Vec::new();
    for command in all() {
        let mut command = command.term_width(width);
        command.build();
        helps.push(printed(&mut command));
        helps.extend(command.get_subcommands_mut().map(printed));
    }
    helps
}

#[test]
fn help_fits_a_narrow_terminal_and_its_examples_stay_whole() {
    for width in [60, 80, 100] {
        for (help, below) in helps(width) {
            for line in help.lines().filter(|line| !line.starts_with("Usage:")) {
                let columns = line.chars().count();
                assert!(columns <= width, "{columns} columns: {line}");
            }
            for row in below.lines().filter(|row| row.starts_with("  ")) {
                // A long command may be broken between its words, a table with two columns may not.
                let is_table = row.trim().contains("  ");
                assert!(
                    help.contains(row) || width < 80 && !is_table,
                    "broken at {width} columns: {row}"
                );
            }
        }
    }
}

#[test]
fn help_without_a_terminal_is_as_wide_as_columns_says_and_100_columns_at_most() {
    let ws = Workspace::new();
    for command in all() {
        let help = |columns: &str| {
            let help = ws.program(&executable(command.get_name()), &["--help"]);
            help.env("COLUMNS", columns).run().text().to_owned()
        };
        let wide = help("200");
        let longest = wide.lines().map(|line| line.chars().count()).max();
        assert!(longest.is_some_and(|l| l > 80 && l <= 100), "{wide}");
        assert_ne!(help("60"), wide);
        assert_eq!(help(""), wide);
    }
}

#[test]
fn help_that_cannot_be_written_is_no_success() {
    let ws = Workspace::new();
    for name in ["get_tools", "call_tool", "run_agent", "serve_tools"] {
        let call = |script: &str| {
            ws.program(&executable(name), &["--help"])
                .in_bash(script)
                .run()
        };
        let full = call("exec \"$@\" >/dev/full");
        assert_eq!(full.status(), 1, "{name}: {}", full.shown());
        assert_eq!(call("exec \"$@\"").status(), 0, "{name}");
    }
}

#[test]
fn a_time_limit_that_is_no_number_is_refused() {
    let ws = Workspace::new();
    for odd in ["abc", "-1", "nan", "1s"] {
        let answer = ws
            .tool("list_directory")
            .arguments(&serde_json::json!({"path": "."}))
            .env("GEMINI_TOOLS_TIMEOUT", odd)
            .run();
        let message = answer.error("policy_violation", 3);
        assert!(message.contains("GEMINI_TOOLS_TIMEOUT"), "{message}");
    }
    for fine in ["", "0", " 2.5 "] {
        let answer = ws
            .tool("list_directory")
            .arguments(&serde_json::json!({"path": "."}))
            .env("GEMINI_TOOLS_TIMEOUT", fine)
            .run();
        assert_eq!(answer.status(), 0, "{fine:?}: {}", answer.shown());
    }
}
