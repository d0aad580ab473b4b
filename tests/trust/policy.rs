//! Policy files and lists, through the executables. What is decided of each call is in `policy_cases`.

use serde_json::{Value, json};

use crate::harness::{Answer, Call, Workspace};

const DENY_WRITING: &str = "[[rule]]\ntoolName = \"write_file\"\ndecision = \"deny\"\npriority = 10\ndenyMessage = \"Ask the owner.\"\n";
const DENY_RM: &str = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"rm\"\ndecision = \"deny\"\npriority = 10\n";
const ASK_READING: &str =
    "[[rule]]\ntoolName = \"list_directory\"\ndecision = \"ask_user\"\npriority = 10\n";

fn users(rules: &str) -> Workspace {
    Workspace::new().home(".gemini/policies/mine.toml", rules)
}

fn writing(ws: &Workspace) -> Call<'_> {
    ws.tool("write_file")
        .arguments(&json!({"file_path": "a.txt", "content": "x"}))
        .unwatched()
}

fn write(ws: &Workspace) -> Answer {
    writing(ws).run()
}

/// A user would have to be asked, and none can be.
#[track_caller]
fn asks_before_writing(ws: &Workspace) {
    let answer = writing(ws).flags(&["--approval-mode", "default"]).run();
    answer.error("policy_violation", 3);
}

fn list(ws: &Workspace, flags: &[&str]) -> Answer {
    let call = ws.tool("list_directory").flags(flags);
    call.arguments(&json!({"path": "."})).run()
}

fn names(ws: &Workspace) -> String {
    ws.get_tools(&[]).run().text().to_owned()
}

#[test]
fn a_denied_call_names_rule_and_file_and_does_nothing() {
    let ws = users(DENY_WRITING);
    let message = write(&ws).error("policy_violation", 3);
    for part in [
        "rule 1",
        "toolName = \"write_file\"",
        "Ask the owner.",
        "mine.toml",
    ] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!ws.dir().join("a.txt").exists());
}

#[test]
fn a_tool_that_is_denied_whatever_its_arguments_is_not_listed() {
    assert!(!names(&users(DENY_WRITING)).contains("\"write_file\""));
    assert!(names(&users(DENY_RM)).contains("\"run_shell_command\""));
    assert!(names(&users(ASK_READING)).contains("\"list_directory\""));
}

/// What denies, by a file in the home directory or by a flag, and what only restricts beside it, by a file in the home
/// directory or in the project, which nobody trusts.
#[test]
fn what_only_restricts_opens_nothing_that_is_denied() {
    let core = json!({"tools": {"core": ["read_file"]}}).to_string();
    let in_yolo = format!("{DENY_WRITING}modes = [\"yolo\"]\n");
    let denials = [
        (".gemini/settings.json", &*core, "default"),
        (".gemini/policies/a.toml", DENY_WRITING, "default"),
        (".gemini/policies/a.toml", &*in_yolo, "yolo"),
        (".gemini/unused", "", "plan"),
    ];
    let asks = |rest: &str| format!("[[rule]]\ndecision = \"ask_user\"\n{rest}\n");
    let project = json!({"tools": {"confirmationRequired": ["write_file"]},
        "security": {"disableYoloMode": true}});
    let (mistakes, extension) = (
        ".gemini/policies/b.toml",
        ".gemini/extensions/x/policies/a.toml",
    );
    let restrictions = [
        ("", project.to_string()),
        (mistakes, asks("toolNames = \"read_file\"\npriority = 500")),
        (mistakes, asks("toolName = 5\npriorty = 50")),
        (
            mistakes,
            asks("toolName = \"write_file\"\nargsPattern = '(x'\npriority = 500"),
        ),
        (
            mistakes,
            asks("toolName = \"write_file\"\nmodes = [\"plam\"]\npriority = 500"),
        ),
        (extension, asks("toolName = \"*\"\npriority = 500")),
    ];
    for (denial, denies, mode) in denials {
        for (restriction, restricts) in &restrictions {
            let ws = Workspace::new().home(denial, denies);
            let ws = match *restriction {
                "" => ws.file(".gemini/settings.json", restricts),
                file => ws.home(file, restricts),
            };
            let call = writing(&ws).env("GEMINI_TOOLS_APPROVAL_MODE", mode);
            call.run().error("policy_violation", 3);
            let list = ws.get_tools(&[]).env("GEMINI_TOOLS_APPROVAL_MODE", mode);
            let is_listed = list.run().text().contains("\"write_file\"");
            assert!(!is_listed, "{denies} {mode}, then {restricts}");
        }
    }
}

/// If both names of a variable name files, what one of them denies is not opened by the other, which asks.
#[test]
fn of_two_files_that_variables_name_the_stricter_decides() {
    let asks = "[[rule]]\ntoolName = \"write_file\"\ndecision = \"ask_user\"\npriority = 900\n";
    let ws = Workspace::new()
        .outside("deny.toml", DENY_WRITING)
        .outside("ask.toml", asks);
    let [one, other] = ["deny.toml", "ask.toml"].map(|name| ws.outside_path(name));
    for (one, other) in [(&one, &other), (&other, &one)] {
        let call = writing(&ws).env("GEMINI_TOOLS_POLICY", one);
        let call = call.env("GEMINI_CLI_TOOLS_POLICY", other);
        call.run().error("policy_violation", 3);
    }
}

#[test]
fn a_denied_command_is_refused_wherever_it_stands_in_the_line() {
    let ws = users(DENY_RM);
    let run = |command: &str| ws.call("run_shell_command", &json!({ "command": command }));
    run("echo hi").output();
    for line in ["echo hi; rm x", "env -S 'rm x'", "$X x"] {
        let message = run(line).error("policy_violation", 3);
        assert!(message.contains("commandPrefix = \"rm\""), "{message}");
    }
}

/// Lines in which bash starts `touch`, and in which a parser may see only `echo`.
const HIDES_TOUCH: [&str; 19] = [
    "! if true; then touch F; fi",
    "cat <<E\n`touch F`${x:-:}\nE",
    "echo \"`echo x` `touch F`\"",
    "echo hi\n\\\ntouch F",
    "echo hi\n\\\n\\\ntouch F",
    "echo hi; to\\\nuch F",
    "echo \\ #; touch F",
    "echo \\\t#; touch F",
    "echo a\r#; touch F",
    "echo a\u{b}#; touch F",
    "echo a\u{c}#; touch F",
    "echo a\u{a0}#; touch F",
    "echo a\\\n#; touch F",
    "echo a # b\\\ntouch F",
    "echo; RANDOM='a[$(touch F)]'",
    "echo; x='a[$(touch F)]'; a=([x]=1)",
    "echo >$ touch; >\\\t touch F",
    "echo; 3>g touch F",
    "echo; time a= touch F",
];

#[test]
fn a_line_that_hides_a_command_neither_runs_unasked_nor_past_a_rule() {
    const DENY_TOUCH: &str = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"touch\"\ndecision = \"deny\"\npriority = 900\n";
    let allowed = r#"{"tools": {"allowed": ["run_shell_command(echo)"]}}"#;
    for line in HIDES_TOUCH {
        let free = Workspace::new();
        let bash = std::process::Command::new("/bin/bash")
            .args(["-c", line])
            .current_dir(free.dir())
            .output();
        bash.expect("bash runs");
        assert!(free.dir().join("F").exists(), "bash runs it: {line:?}");

        for (ws, mode) in [
            (users(DENY_TOUCH), None),
            (Workspace::new(), Some("default")),
            (
                Workspace::new().home(".gemini/settings.json", allowed),
                Some("default"),
            ),
        ] {
            let call = |flags: &[&str]| {
                let flags: Vec<&str> = mode
                    .map_or(vec![], |mode| vec!["--approval-mode", mode])
                    .into_iter()
                    .chain(flags.iter().copied())
                    .collect();
                ws.tool("run_shell_command")
                    .arguments(&json!({ "command": line }))
                    .flags(&flags)
                    .run()
            };
            let explained = call(&["--explain"]);
            assert_ne!(explained.json()["policy"]["decision"], "allow", "{line:?}");
            call(&[]).error("policy_violation", 3);
            assert!(!ws.dir().join("F").exists(), "{line:?}");
        }
    }
}

#[test]
fn a_call_that_nobody_can_be_asked_about_tells_nothing_of_the_file() {
    let rule = "[[rule]]\ntoolName = \"*\"\nargsPattern = \"secret\"\ndecision = \"ask_user\"\npriority = 10\n";
    let ws = users(rule).file("secret.txt", "let password = \"hunter2\";\n");
    for file in ["secret.txt", "secret.md"] {
        let args = json!({"file_path": file, "old_string": "let  password = \"hunter\";", "new_string": "x"});
        let call = ws.tool("replace").arguments(&args).unwatched();
        let answer = call.flags(&["--approval-mode", "default"]).run();
        let message = answer.error("policy_violation", 3);
        let expected = "replace needs the user's approval. No user can be asked.";
        assert!(message.starts_with(expected), "{message}");
        assert!(!message.contains("hunter"), "{message}");
    }
}

#[test]
fn what_asks_runs_where_the_host_has_asked_and_not_where_nobody_can_be() {
    let ws = users(ASK_READING);
    list(&ws, &[]).output();
    let message = list(&ws, &["--approval-mode", "default"]).error("policy_violation", 3);
    assert!(message.contains("No user can be asked"), "{message}");
    let ws = Workspace::new();
    list(&ws, &["--approval-mode", "plan"]).output();
    for (mode, runs) in [
        ("default", false),
        ("plan", false),
        ("auto_edit", true),
        ("yolo", true),
    ] {
        let answer = writing(&ws).flags(&["--approval-mode", mode]).run();
        assert_eq!(answer.status(), if runs { 0 } else { 3 }, "{mode}");
    }
}

#[test]
fn an_explanation_says_what_was_decided_by_which_rule_of_which_file() {
    let ws = users(&format!("{DENY_WRITING}{ASK_READING}"));
    let plan = list(&ws, &["--explain"]).json();
    let policy = &plan["policy"];
    assert_eq!(policy["decision"], "ask_user", "{plan}");
    assert_eq!(
        (&policy["tier"], &policy["priority"]),
        (&json!("user"), &json!(10))
    );
    let rule = policy["rule"].as_str().expect("a rule");
    assert!(
        rule.starts_with("rule 2: toolName = \"list_directory\""),
        "{rule}"
    );
    assert!(
        policy["file"]
            .as_str()
            .is_some_and(|f| f.ends_with(".gemini/policies/mine.toml"))
    );
    let denied = writing(&ws).flags(&["--explain"]).run();
    assert_eq!(
        (denied.status(), &denied.json()["policy"]["decision"]),
        (3, &json!("deny"))
    );
    let ws = Workspace::new().home(
        ".gemini/settings.json",
        r#"{"tools": {"exclude": ["write_file"]}}"#,
    );
    let policy = &writing(&ws).flags(&["--explain"]).run().json()["policy"];
    assert_eq!(policy["rule"], "tools.exclude: write_file");
    let file = policy["file"].as_str().expect("a file");
    assert!(file.ends_with("home/.gemini/settings.json"), "{file}");
    let built_in = list(&Workspace::new(), &["--explain"]).json();
    assert_eq!(built_in["policy"]["tier"], "default", "{built_in}");
    assert_eq!(built_in["policy"]["file"], Value::Null);
}

#[test]
fn a_batch_judges_and_explains_each_call() {
    let ws = users(DENY_WRITING);
    let calls = "{\"id\":1,\"name\":\"write_file\",\"args\":{\"file_path\":\"a\",\"content\":\"x\"}}\n\
                 {\"id\":2,\"name\":\"list_directory\",\"args\":{\"path\":\".\"}}\n";
    let lines = |flags: &[&str]| -> Vec<Value> {
        let answer = ws.call_tool(flags).input(calls).run();
        let text = String::from_utf8_lossy(&answer.stdout).into_owned();
        let mut lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("a line"))
            .collect();
        lines.sort_by_key(|line| {
            line.pointer("/functionResponse/id")
                .or(line.get("id"))
                .map(Value::to_string)
        });
        lines
    };
    let run = lines(&["--batch"]);
    assert_eq!(
        run[0]["functionResponse"]["response"]["errorType"],
        "policy_violation"
    );
    assert!(
        run[1]["functionResponse"]["response"]["output"].is_string(),
        "{run:?}"
    );
    let explained = lines(&["--batch", "--explain"]);
    assert_eq!(explained[0]["policy"]["decision"], "deny", "{explained:?}");
    assert_eq!(explained[1]["policy"]["decision"], "allow");
    assert_eq!(explained[1]["id"], "2");
}

#[test]
fn a_file_of_the_command_line_takes_the_place_of_the_users() {
    let ws = users(DENY_WRITING).file("strict.toml", ASK_READING.replace("ask_user", "deny"));
    let policy = ["--policy", "strict.toml"];
    list(&ws, &policy).error("policy_violation", 3);
    writing(&ws).flags(&policy).run().output();
    let missing = list(&ws, &["--policy", "none.toml"]).error("policy_violation", 3);
    assert!(missing.contains("none.toml"), "{missing}");
}

#[test]
fn the_settings_name_files_of_the_user_and_of_the_administrator() {
    let ws = users(DENY_WRITING)
        .home("other.toml", ASK_READING.replace("ask_user", "deny"))
        .home(
            ".gemini/settings.json",
            r#"{"policyPaths": ["~/other.toml"]}"#,
        );
    list(&ws, &[]).error("policy_violation", 3);
    write(&ws).output();
    let allow = DENY_WRITING
        .replace("deny\"", "allow\"")
        .replace("= 10", "= 999");
    let ws = users(&allow).home("admin/a.toml", DENY_WRITING).home(
        ".gemini/settings.json",
        r#"{"adminPolicyPaths": ["~/admin"]}"#,
    );
    assert!(
        write(&ws)
            .error("policy_violation", 3)
            .contains("admin/a.toml")
    );
    let project = Workspace::new()
        .file("p.toml", DENY_WRITING)
        .file(".gemini/settings.json", r#"{"policyPaths": ["p.toml"]}"#);
    write(&project).output();
}

#[test]
fn a_projects_rules_count_where_it_is_trusted_and_yield_to_the_users() {
    let ws = Workspace::new().file(".gemini/policies/p.toml", DENY_WRITING);
    let trusted = |ws: &Workspace| writing(ws).env("GEMINI_CLI_TRUST_WORKSPACE", "true").run();
    write(&ws).output();
    trusted(&ws).error("policy_violation", 3);
    let allow = DENY_WRITING.replace("deny\"", "allow\"");
    let ws = users(&allow).file(".gemini/policies/p.toml", DENY_WRITING);
    trusted(&ws).output();
}

#[test]
fn an_extension_can_only_restrict() {
    let own = ".gemini/extensions/x/policies/p.toml";
    write(&Workspace::new().home(own, DENY_WRITING)).error("policy_violation", 3);
    let allow = DENY_WRITING
        .replace("deny\"", "allow\"")
        .replace("= 10", "= 999");
    asks_before_writing(&Workspace::new().home(own, allow));
}

#[test]
fn a_file_that_is_no_toml_stops_all_calls_and_no_list() {
    let ws = users("[[rule]\n");
    let message = list(&ws, &[]).error("policy_violation", 3);
    assert!(
        message.contains("mine.toml") && message.contains("line 1"),
        "{message}"
    );
    assert!(names(&ws).contains("\"list_directory\""));
    for strange in ["fifo", "directory"] {
        let ws = Workspace::new().home(".gemini/policies/a.txt", "not a policy");
        let place = ws.root().join("home/.gemini/policies/b.toml");
        match strange {
            "fifo" => crate::harness::make_fifo(&place),
            _ => std::fs::create_dir(&place).expect("made"),
        }
        list(&ws, &[]).error("policy_violation", 3);
    }
}

#[test]
fn a_faulty_rule_never_lets_more_run() {
    let faulty = DENY_WRITING.replace("toolName", "tool_nme = \"x\"\ntoolName");
    write(&users(&faulty)).error("policy_violation", 3);
    let allow = faulty.replace("deny\"", "allow\"");
    asks_before_writing(&users(&allow));
}

#[test]
fn a_denied_argument_is_denied_by_either_of_its_names() {
    let rule = "[[rule]]\ntoolName = \"read_file\"\nargsPattern = '\"file_path\":\"[^\"]*\\.env\"'\ndecision = \"deny\"\npriority = 10\n";
    let ws = users(rule).file(".env", "SECRET=1\n").file("a", "x\n");
    for key in ["file_path", "absolute_path", "path"] {
        ws.call("read_file", &json!({ key: ws.path(".env") }))
            .error("policy_violation", 3);
        ws.call("read_file", &json!({ key: ws.path("a") })).output();
    }
}

#[test]
fn config_shows_the_files_in_force_and_what_is_wrong_with_others() {
    let ws = users(&format!("{DENY_WRITING}{DENY_WRITING}"))
        .home(".gemini/policies/broken.toml", "[[rule]\n")
        .home(".gemini/extensions/x/policies/p.toml", ASK_READING)
        .file(".gemini/policies/p.toml", DENY_RM);
    let config = ws.get_tools(&["config", "--json"]).run().json();
    let policy = &config["policy"];
    let files: Vec<(&Value, bool, &Value)> = policy["files"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|file| {
            let path = file["file"].as_str().expect("a path");
            (&file["tier"], path.ends_with("mine.toml"), &file["rules"])
        })
        .collect();
    let (user, extension) = (json!("user"), json!("extension"));
    assert_eq!(
        files,
        [(&user, true, &json!(2)), (&extension, false, &json!(1))]
    );
    let text = ws.get_tools(&["config"]).run();
    let problems = policy["problems"].to_string();
    assert!(problems.contains("/broken.toml\""), "{problems}");
    for part in [
        "It can't be read: line 1",
        "is left out: the project is not trusted",
    ] {
        assert!(problems.contains(part), "{part}: {problems}");
        text.must_say(text.text(), &[part]);
    }
    text.must_say(text.text(), &["mine.toml  (2 rules)", "p.toml  (1 rule)"]);
    let trusted = ws
        .get_tools(&["config"])
        .env("GEMINI_CLI_TRUST_WORKSPACE", "true");
    let trusted = trusted.run();
    trusted.must_say(trusted.text(), &["  workspace       "]);
    let none = Workspace::new().get_tools(&["config"]).run();
    none.must_say(
        none.text(),
        &["Policy files, highest precedence first\n  none\n"],
    );
}

#[test]
fn no_setting_of_a_project_removes_a_rule_that_denies() {
    let always = json!({"security": {"disableAlwaysAllow": true}}).to_string();
    for priority in [10, 950, 999] {
        let rule = DENY_WRITING.replace("priority = 10", &format!("priority = {priority}"));
        for file in [
            ".gemini/policies/mine.toml",
            ".gemini/policies/auto-saved.toml",
        ] {
            let ws = Workspace::new()
                .home(file, &rule)
                .file(".gemini/settings.json", &always);
            let answer = writing(&ws).flags(&["--approval-mode", "yolo"]).run();
            let message = answer.error("policy_violation", 3);
            assert!(message.contains("Ask the owner."), "{priority}: {message}");
        }
    }
}

#[test]
fn answers_that_were_kept_go_where_the_user_wants_none() {
    let always = json!({"security": {"disableAlwaysAllow": true}}).to_string();
    let rule = "[[rule]]\ntoolName = \"write_file\"\ndecision = \"allow\"\npriority = 100\n";
    for (file, counts) in [("auto-saved.toml", false), ("mine.toml", true)] {
        let ws = Workspace::new()
            .home(&format!(".gemini/policies/{file}"), rule)
            .home(".gemini/settings.json", &always);
        let answer = writing(&ws).flags(&["--approval-mode", "default"]).run();
        assert_eq!(answer.status() == 0, counts, "{}", answer.shown());
    }
}

#[test]
fn a_rule_with_a_fault_is_called_invalid_where_it_refuses() {
    let ws = users(&DENY_WRITING.replace("decision", "descision"));
    let message = write(&ws).error("policy_violation", 3);
    for part in [
        "invalid rule in ",
        "mine.toml",
        "line 3: \"descision\" is not a key of a rule (did you mean decision?)",
        "line 1: decision is missing; give \"allow\", \"ask_user\" or \"deny\"",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn a_fault_of_a_rule_names_its_line_its_key_and_what_is_allowed() {
    let kept = "the rule counts as deny without that.";
    for (line, place, fault) in [
        (
            "toolname = \"glob\"",
            "6:1",
            "\"toolname\" is not a key of a rule (did you mean toolName?)",
        ),
        (
            "  modes = [\"yolo\",\n  \"all\"]",
            "6:3",
            "modes is [\"yolo\", \"all\"]; it must be a list of \"default\", \"autoEdit\", \"yolo\" and \"plan\"",
        ),
        (
            "interactive = \"no\"",
            "6:1",
            "interactive is \"no\"; it must be true or false",
        ),
        (
            "deny_message = 5",
            "6:1",
            "denyMessage stands twice, in two spellings",
        ),
        (
            "commandPrefix = [\"a\", 1]",
            "6:1",
            "commandPrefix is [\"a\", 1]; it must be a string that is not empty, or a list of such",
        ),
        (
            "commandPrefix = \"rm\"",
            "2:1",
            "commandPrefix and commandRegex are for toolName",
        ),
        (
            "argsPattern = \"(\"",
            "6:1",
            "argsPattern is not a valid regular expression",
        ),
    ] {
        let said = users(&format!("{DENY_WRITING}{line}\n"))
            .get_tools(&["config"])
            .run();
        let problem = said.text().lines().find(|line| line.contains("rule 1: "));
        let problem = problem.unwrap_or_else(|| panic!("{line}: {}", said.shown()));
        let said = format!("mine.toml:{place}: rule 1: {fault}");
        assert!(problem.contains(&said), "{line}: {problem}");
        assert!(problem.ends_with(kept), "{line}: {problem}");
    }
}

#[test]
fn every_fault_of_a_policy_file_is_reported_where_it_stands() {
    for (rule, faults) in [
        (
            DENY_WRITING.replace("priority = 10", "priority = 1000"),
            &["4:1: rule 1: priority is 1000; it must be a whole number from 0 to 999"][..],
        ),
        (
            DENY_WRITING.replace("\"deny\"", "\"never\""),
            &["3:1: rule 1: decision is \"never\"; it must be \"allow\", \"ask_user\" or \"deny\""],
        ),
        (
            "# Mine\n[[rule]]\ndenyMessage = \"No.\"\n".to_owned(),
            &[
                "2:1: rule 1: decision is missing; give \"allow\", \"ask_user\" or \"deny\"",
                "2:1: rule 1: priority is missing; give a whole number from 0 to 999",
                "2:1: rule 1: toolName is missing; give a tool's name, or \"*\" for all tools",
            ],
        ),
        (
            "rule = [1]\n".to_owned(),
            &[" It can't be read: line 1: rule 1 is not a table"],
        ),
        (
            format!("\n{}", DENY_WRITING.replace("[[rule]]", "[[rules]]")),
            &[
                " It can't be read: line 2: \"rules\" is not a key of policy files; rules are under [[rule]]",
            ],
        ),
        (
            "a = 1\n".to_owned(),
            &["1:1: \"a\" is not a key of policy files; rules are under [[rule]]."],
        ),
        (
            DENY_WRITING.replace("\"deny\"", "\"allow\"") + "prioriti = 1\n",
            &[
                "6:1: rule 1: \"prioriti\" is not a key of a rule (did you mean priority?); the rule is left out.",
            ],
        ),
    ] {
        let said = users(&rule).get_tools(&["config"]).run();
        for fault in faults {
            said.must_say(said.text(), &[&format!("mine.toml:{fault}")]);
        }
    }
}

#[test]
fn a_name_that_no_tool_has_is_reported_with_the_nearest_one() {
    let rule = DENY_WRITING.replace("write_file", "write_fiel");
    let ws = Workspace::new().file("rules.toml", &rule);
    for said in [
        ws.get_tools(&["config", "--policy", "rules.toml"]).run(),
        users(&rule).get_tools(&["config"]).run(),
    ] {
        said.must_say(
            said.text(),
            &["No tool is called \"write_fiel\"", "write_file?"],
        );
    }
    let known = users(&DENY_WRITING.replace("write_file", "write_todos"));
    let said = known.get_tools(&["config"]).run();
    assert!(
        !said.text().contains("No tool is called"),
        "{}",
        said.shown()
    );
}

#[test]
fn a_link_to_a_build_file_is_guarded_as_that_is() {
    let ws = Workspace::new().file("package.json", "{}\n");
    std::os::unix::fs::symlink("package.json", ws.path("alias")).expect("a link");
    std::os::unix::fs::symlink("Makefile", ws.path("dangling")).expect("a link");
    for name in ["alias", "dangling"] {
        let call = ws.tool("write_file").unwatched();
        let call = call.arguments(&json!({"file_path": name, "content": "x"}));
        let answer = call.flags(&["--approval-mode", "auto_edit"]).run();
        answer.error("policy_violation", 3);
    }
}

#[test]
fn restrictions_count_by_the_names_that_a_host_hands_on_and_in_the_users_file() {
    let restrict = "[[rule]]\ntoolName = \"write_file\"\ndecision = \"deny\"\npriority = 10\n";
    let refuses = |ws: &Workspace, variables: &[(&str, &str)]| {
        let mut call = writing(ws);
        for (name, value) in variables {
            call = call.env(name, value);
        }
        let answer = call.run();
        answer.status() == 3
    };
    let plain = || Workspace::new().file("deny.toml", restrict);
    for name in ["GEMINI_TOOLS_POLICY", "GEMINI_CLI_TOOLS_POLICY"] {
        let ws = plain();
        let deny = ws.path("deny.toml");
        assert!(refuses(&ws, &[(name, &deny)]), "{name}");
        let ws = ws.home(".gemini/.env", format!("{name}={deny}\n"));
        assert!(refuses(&ws, &[]), "{name}");
        // A project's file is not read.
        let ws = plain();
        let line = format!("{name}={}\n", ws.path("deny.toml"));
        let ws = ws.file(".gemini/.env", line);
        assert!(!refuses(&ws, &[]), "{name}");
    }
    let qwen = plain();
    let line = format!("GEMINI_TOOLS_POLICY={}\n", qwen.path("deny.toml"));
    let qwen = qwen.home(".qwen/.env", line);
    assert!(!refuses(&qwen, &[]));
    assert!(refuses(&qwen, &[("QWEN_CODE_NO_RELAUNCH", "true")]));
    // Of two, neither allows anything.
    let allow = restrict.replace("deny", "allow").replace("10", "20");
    let ws = plain().file("allow.toml", &allow);
    let (allow, deny) = (ws.path("allow.toml"), ws.path("deny.toml"));
    let both = [
        ("GEMINI_TOOLS_POLICY", &*allow),
        ("GEMINI_CLI_TOOLS_POLICY", &*deny),
    ];
    assert!(refuses(&ws, &both));
}

#[test]
fn our_modes_under_the_hosts_key_of_the_sandbox_stop_every_command() {
    for mode in ["off", "workspace-write", "read-only"] {
        let settings = json!({"tools": {"sandbox": mode}}).to_string();
        let ws = Workspace::new().home(".gemini/settings.json", settings);
        let answer = ws.call("run_shell_command", &json!({"command": "touch made"}));
        let message = answer.error("policy_violation", 3);
        for part in ["tools.sandbox", mode, "tools.commandSandbox"] {
            assert!(message.contains(part), "{message}");
        }
        assert!(!ws.root().join("ws/made").exists());
        list(&ws, &[]).output();
    }
}

#[test]
fn what_looks_harmless_is_judged_as_the_kernel_and_git_take_it() {
    let ws = Workspace::new().file("x", "x").outside("d/x", "x");
    let ws = ws.outside("x", "x").link("l", "../out/d");
    let decision = |tool: &str, arguments: Value, flags: &[&str]| {
        let call = ws.tool(tool).arguments(&arguments);
        let answer = call.flags(&[&["--explain"], flags].concat()).run();
        answer.json()["policy"]["decision"].clone()
    };
    for (line, wanted) in [("cat x", "allow"), ("cat l/../x", "ask_user")] {
        let arguments = json!({ "command": line });
        assert_eq!(decision("run_shell_command", arguments, &[]), wanted);
    }
    for (path, wanted) in [("y", "allow"), (".git/config", "deny")] {
        let arguments = json!({"file_path": path, "content": ""});
        let mode = ["--approval-mode", "auto_edit"];
        assert_eq!(decision("write_file", arguments, &mode), wanted);
    }
}

/// Returns the decision on a line in mode `default`, in an environment.
fn decision_with(ws: &Workspace, line: &str, variables: &[(&str, &str)]) -> Value {
    let mut call = ws
        .tool("run_shell_command")
        .arguments(&json!({"command": line}));
    for (name, value) in variables {
        call = call.env(name, value);
    }
    let answer = call.flags(&["--explain"]).run();
    answer.json()["policy"]["decision"].clone()
}

#[test]
fn no_name_is_harmless_that_the_project_may_have_given_to_another_program() {
    let ws = Workspace::new()
        .file("x", "x")
        .file("bin/none", "")
        .outside("tools/none", "")
        .outside("open/none", "");
    std::os::unix::fs::symlink("../ws/bin", ws.outside_path("into")).expect("a link");
    let open = ws.outside_path("open");
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(&open, all).expect("its mode");
    let usual = "/usr/local/bin:/usr/bin:/bin";
    let of = |path: &str| {
        let path = path.replace("WS", &ws.dir().to_string_lossy());
        path.replace("OUT/", &ws.outside_path(""))
    };
    for (path, wanted) in [
        (usual.to_owned(), "allow"),
        (format!("OUT/tools:OUT/missing:{usual}"), "allow"),
        (format!("{usual}:WS/bin"), "allow"),
        (format!(".:{usual}"), "ask_user"),
        (format!(":{usual}"), "ask_user"),
        (format!("bin:{usual}"), "ask_user"),
        (format!("~/bin:{usual}"), "ask_user"),
        (format!("WS/bin:{usual}"), "ask_user"),
        (format!("WS/missing:{usual}"), "ask_user"),
        (format!("OUT/tools/../../ws/bin:{usual}"), "ask_user"),
        (format!("OUT/into:{usual}"), "ask_user"),
        (format!("OUT/open:{usual}"), "ask_user"),
        (format!("/tmp:{usual}"), "ask_user"),
    ] {
        let path = of(&path);
        for line in ["cat x", "id", "sed -n 3p x"] {
            let decision = decision_with(&ws, line, &[("PATH", &path)]);
            assert_eq!(decision, wanted, "{path}: {line}");
        }
    }
    for (name, value, wanted) in [
        ("LD_LIBRARY_PATH", "OUT/tools", "allow"),
        ("LD_LIBRARY_PATH", "OUT/tools:", "ask_user"),
        ("LD_LIBRARY_PATH", "WS/lib", "ask_user"),
        ("LD_PRELOAD", "WS/x.so", "ask_user"),
        ("GCONV_PATH", ".", "ask_user"),
        ("GEMINI_TOOLS_ROOTS", "OUT/tools", "allow"),
    ] {
        let value = of(value);
        let variables = [("PATH", usual), (name, &*value)];
        for line in ["cat x", "echo hi"] {
            assert_eq!(
                decision_with(&ws, line, &variables),
                wanted,
                "{name}={value}: {line}"
            );
        }
    }
    // Tools write in the other roots, too.
    let path = of(&format!("OUT/tools:{usual}"));
    let roots = of("OUT/tools");
    let variables = [("PATH", &*path), ("GEMINI_TOOLS_ROOTS", &roots)];
    assert_eq!(decision_with(&ws, "cat x", &variables), "ask_user");
}

/// Bash and the rules might read an odd line differently. What the rules have allowed is written anew so that there is
/// one reading, and that line is what bash gets; without a rule there was nothing to read, and the line is as it came.
#[test]
#[cfg(target_os = "linux")]
fn the_line_that_was_judged_is_the_one_that_bash_gets() {
    let line = "./show   one; ./show \"t\"wo";
    let allowed = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"./show\"\ndecision = \"allow\"\npriority = 10\n";
    for (rules, ran) in [
        (allowed, "-- ./show one; ./show 't'wo;"),
        ("", "-- ./show   one;"),
    ] {
        let ws = users(rules)
            .file("show", "tr '\\0' ' ' </proc/$PPID/cmdline\n")
            .mode("show", 0o755);
        let call = ws.tool("run_shell_command").unwatched();
        let answer = call.arguments(&json!({"command": line})).run();
        let shown = answer.text();
        assert!(shown.contains(ran), "{shown}");
    }
}
