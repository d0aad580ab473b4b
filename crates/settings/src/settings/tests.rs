//! Tests of settings files that are read together.

use super::file::SettingsFile;
use super::{McpSettings, SandboxSettings, Scope, Settings, UndoCommands, UndoSettings, keys};
use crate::trust::{Distrust, ProjectTrust, Trust, TrustedBy};
use gemini_tools_core::tool::SandboxMode;
use gemini_tools_environment::variables::Variable;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn load(user: &str, project: &str) -> Settings {
    let dir = tempfile::tempdir().expect("a directory");
    let (home, root) = (dir.path().join("home"), dir.path().join("root"));
    for (at, text) in [(&home, user), (&root, project)] {
        std::fs::create_dir_all(at.join(".gemini")).expect("made");
        std::fs::write(at.join(".gemini/settings.json"), text).expect("written");
    }
    Settings::load(Some(&home), &root)
}

#[test]
fn both_files_and_both_spellings_count() {
    let s = load(
        r#"{ "excludeTools": ["glob"], // why
             "context": {"includeDirectories": ["~/lib"]} }"#,
        r#"{ "tools": {"exclude": ["ReadFileTool"], "core": ["read_file","glob","run_shell_command(ls)"],
             "truncateToolOutputThreshold": 7}, "context": {"includeDirectories": ["/etc"]} }"#,
    );
    assert_eq!(s.exclude, ["glob", "ReadFileTool"]);
    assert_eq!(s.core.as_ref().map_or(0, Vec::len), 3);
    assert_eq!(s.limit_chars(), Some(7));
    assert_eq!(
        s.include_directories.len(),
        1,
        "a project can't widen the workspace"
    );
    assert!(s.include_directories[0].ends_with("home/lib"));
}

#[test]
fn a_project_names_the_context_file_only_if_it_is_markdown_of_no_directory() {
    let user = r#"{"context": {"fileName": "a/b.txt"}, "contextFileName": "old"}"#;
    for (project, name) in [
        (r#"{"contextFileName": ["X.MD", "y.md"]}"#, "X.MD"),
        (r#"{"context": {"fileName": "a/x.md"}}"#, "a/b.txt"),
        (r#"{"context": {"fileName": "settings.json"}}"#, "a/b.txt"),
        (r#"{"context": {"fileName": ["", "x.md"]}}"#, "x.md"),
    ] {
        let settings = load(user, project);
        let first = settings.context_file_names.first();
        assert_eq!(first.map(String::as_str), Some(name));
    }
    assert!(load("{}", "{}").context_file_names.is_empty());
}

#[test]
fn all_names_of_context_files_are_kept_but_those_that_a_project_must_not_name() {
    let users = r#"{"context": {"fileName": ["A.md", " ", "b/c.txt", 1]}}"#;
    let mixed = r#"{"contextFileName": ["x.md", "oauth_creds.json", "../y.md", "z.MD"]}"#;
    for (user, project, names) in [
        (users, "{}", vec!["A.md", "b/c.txt"]),
        (users, mixed, vec!["x.md", "z.MD"]),
        (
            users,
            r#"{"contextFileName": ["x.json", "y.md"]}"#,
            vec!["A.md", "b/c.txt"],
        ),
        ("{}", r#"{"contextFileName": "one.md"}"#, vec!["one.md"]),
        ("{}", "{}", vec![]),
    ] {
        assert_eq!(load(user, project).context_file_names, names, "{project}");
    }
}

#[test]
fn a_project_can_make_the_sandbox_stricter_but_not_weaker() {
    let mode = |user: &str, project: &str| {
        let settings = load(user, project);
        let mode = settings.sandbox.mode(&[], false).ok();
        mode.filter(|_| settings.problems.is_empty())
    };
    let of = |mode: &str| format!(r#"{{"tools": {{"commandSandbox": {mode}}}}}"#);
    let of_host = |mode: &str| format!(r#"{{"tools": {{"sandbox": {mode}}}}}"#);
    let (write, read) = (of("\"workspace-write\""), of("\"read-only\""));
    for (user, project, expected) in [
        ("{}", "{}", Some(SandboxMode::Off)),
        ("{}", &*write, Some(SandboxMode::WorkspaceWrite)),
        (&*write, &*read, Some(SandboxMode::ReadOnly)),
        (&*read, &*of("\"off\""), Some(SandboxMode::ReadOnly)),
        ("{}", &*of("3"), None),
        ("{}", &*of("\"docker\""), None),
        (&*of("true"), "{}", None),
        (&*of("\"off \""), "{}", None),
        (
            &*of_host("true"),
            &*of_host("false"),
            Some(SandboxMode::WorkspaceWrite),
        ),
        (&*of_host("true"), &*read, Some(SandboxMode::ReadOnly)),
        (&*of_host("\"docker\""), "{}", None),
        (
            &*of_host(r#"{"enabled": false, "command": "x"}"#),
            "{}",
            Some(SandboxMode::Off),
        ),
        (
            &*of_host(r#"{"enabled": true}"#),
            "{}",
            Some(SandboxMode::WorkspaceWrite),
        ),
    ] {
        assert_eq!(mode(user, project), expected, "{user} {project}");
    }
    let docker = load(&of_host("\"docker\""), "{}").sandbox;
    assert_eq!(docker.mode(&[], true).ok(), Some(SandboxMode::Off));
    let chosen = |values: &[&str]| {
        let variable = |value: &&str| Variable {
            name: "GEMINI_TOOLS_SANDBOX".to_owned(),
            value: value.into(),
            file: None,
        };
        let chosen: Vec<Variable> = values.iter().map(variable).collect();
        docker.mode(&chosen, true).ok()
    };
    assert_eq!(chosen(&["read-only"]), Some(SandboxMode::ReadOnly));
    assert_eq!(
        chosen(&["off", "workspace-write"]),
        Some(SandboxMode::WorkspaceWrite)
    );
    assert_eq!(chosen(&["of"]), None);
    let wide = r#"{"tools": {"sandboxNetworkAccess": true, "sandboxAllowedPaths": ["~/x", "y"]}}"#;
    assert_eq!(load("{}", wide).sandbox.allowed_paths.len(), 0);
    assert!(!load("{}", wide).sandbox.network);
    let users = load(wide, "{}").sandbox;
    assert!(users.network && users.allowed_paths[0].ends_with("home/x"));
}

#[test]
fn only_the_user_opens_hosts_and_either_file_switches_corrections_off() {
    let hosts = r#"{"tools": {"webFetch": {"allowedHosts": ["a"]}, "disableLLMCorrection": true}}"#;
    let s = load(hosts, "{}");
    assert!(s.fetch_hosts == ["a"] && s.disable_llm_correction);
    let s = load(r#"{"tools": {"disableLLMCorrection": false}}"#, hosts);
    assert!(s.fetch_hosts.is_empty() && s.disable_llm_correction);
}

#[test]
fn a_broken_file_is_a_problem_not_a_failure() {
    let s = load("{", "[]");
    assert_eq!(s.problems.len(), 2, "{:?}", s.problems);
    assert_eq!((s.core, s.exclude.len()), (None, 0));
    let none = Settings::load(None, Path::new("/nonexistent"));
    assert!(none.problems.is_empty() && none.files.is_empty());
}

fn load_trusted(user: &str, project: &str) -> Settings {
    let dir = tempfile::tempdir().expect("a directory");
    let (home, root) = (dir.path().join("home"), dir.path().join("root"));
    for (at, text) in [(&home, user), (&root, project)] {
        std::fs::create_dir_all(at.join(".gemini")).expect("made");
        std::fs::write(at.join(".gemini/settings.json"), text).expect("written");
    }
    let trust = ProjectTrust::known(Trust::Trusted(TrustedBy::Caller));
    Settings::load_trusting(Some(&home), &root, trust)
}

#[test]
fn a_server_of_a_later_file_takes_the_place_of_an_earlier_one_as_a_whole() {
    let user =
        r#"{"mcpServers": {"a": {"command": "users", "args": ["1"]}, "b": {"url": "http://b"}}}"#;
    let project = r#"{"mcpServers": {"a": {"url": "http://a", "type": "http", "timeout": 1500,
        "env": {"PORT": 1}, "trust": true, "includeTools": []}}, "mcpServerCommand": "x y"}"#;
    let mcp = load_trusted(user, project).mcp;
    let a = &mcp.servers["a"];
    assert_eq!(
        (&a.command, a.http_url.as_deref()),
        (&None, Some("http://a"))
    );
    assert_eq!(
        (a.timeout_ms, a.trust, a.source),
        (Some(1500), true, Scope::Project)
    );
    assert_eq!(
        (a.env["PORT"].as_str(), a.include_tools.as_ref()),
        ("1", Some(&vec![]))
    );
    assert_eq!(mcp.servers["b"].source, Scope::User);
    assert_eq!(mcp.server_command.as_deref(), Some("x y"));
    let s = load(user, project);
    assert_eq!(s.mcp.servers["a"].command.as_deref(), Some("users"));
    assert_eq!(s.mcp.server_command, None);
    assert!(s.needs_trust("mcpServers") && s.needs_trust("mcp.serverCommand"));
}

#[test]
fn a_server_is_left_out_if_not_all_that_is_excluded_of_it_is_known() {
    for (excluded, is_there) in [
        (r#"["a"]"#, true),
        ("[]", true),
        (r#""a""#, false),
        (r#"[["a"]]"#, false),
        (r#"["a", null]"#, false),
        (r#"[{"name": "a"}, "b"]"#, false),
    ] {
        let server =
            format!(r#"{{"mcpServers": {{"s": {{"url": "x", "excludeTools": {excluded}}}}}}}"#);
        let settings = load(&server, "{}");
        assert_eq!(
            settings.mcp.servers.contains_key("s"),
            is_there,
            "{excluded}"
        );
        assert_eq!(settings.notes.is_empty(), is_there, "{excluded}");
    }
}

#[test]
fn servers_are_allowed_by_all_lists_and_excluded_by_any() {
    let mcp = |user: &str, project: &str| load(user, project).mcp;
    let both = mcp(
        r#"{"mcp": {"allowed": ["A", "b"], "excluded": ["x"]}}"#,
        r#"{"allowMCPServers": ["a", "c"], "excludeMCPServers": "y", "mcp": {"pin": true}}"#,
    );
    assert_eq!(both.allowed, Some(vec!["A".to_owned()]));
    assert_eq!(both.excluded, ["x", "y"]);
    assert!(both.pin);
    let odd = mcp("{}", r#"{"mcp": {"allowed": 3}}"#);
    assert_eq!(
        odd.allowed,
        Some(vec![]),
        "what can't be understood allows nothing"
    );
}

#[test]
fn a_restriction_that_cannot_be_understood_is_a_problem_and_other_values_are_notes() {
    let s = load(
        r#"{"tools": {"core": 3, "truncateToolOutputThreshold": []}}"#,
        "{}",
    );
    assert_eq!(
        (s.problems.len(), s.notes.len()),
        (1, 1),
        "{:?}",
        s.problems
    );
    assert!(
        s.problems[0].place.key.contains("tools.core"),
        "{:?}",
        s.problems
    );
    assert!(
        s.notes[0]
            .to_string()
            .contains("tools.truncateToolOutputThreshold")
    );
}

fn said(files: &[(Scope, &Value)]) -> Settings {
    let mut settings = Settings {
        trust: ProjectTrust::known(Trust::Untrusted(Distrust::Unknown)),
        ..Settings::default()
    };
    for (scope, value) in files {
        let parsed = SettingsFile {
            value: (*value).clone(),
            has_variables: false,
            id: (0, 0),
        };
        let home = Some(Path::new("/home/you"));
        settings.add(*scope, PathBuf::new(), parsed, home, false);
    }
    settings
}

/// Returns true if the allowlist `after` allows no more than `before`. `None` allows everything.
fn leaves_no_more(after: Option<&Vec<String>>, before: Option<&Vec<String>>) -> bool {
    match (after, before) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(after), Some(before)) => after.iter().all(|one| before.contains(one)),
    }
}

fn is_part<T: PartialEq>(of: &[T], all: &[T]) -> bool {
    of.iter().all(|one| all.contains(one))
}

fn name_every_field(settings: &Settings) {
    let Settings {
        core: _,
        exclude: _,
        truncate_threshold: _,
        include_directories: _,
        shell_idle_secs: _,
        context_file_names: _,
        sandbox,
        undo: _,
        unseen_changes: _,
        fetch_hosts: _,
        disable_llm_correction: _,
        disable_syntax: _,
        commands: _,
        allowed: _,
        model: _,
        max_turns: _,
        confirmation_required: _,
        policy_paths: _,
        admin_policy_paths: _,
        disable_yolo: _,
        disable_always_allow: _,
        mcp,
        trust: _,
        problems: _,
        notes: _,
        files: _,
        origins: _,
    } = settings;
    let SandboxSettings {
        modes: _,
        containers: _,
        allowed_paths: _,
        network: _,
    } = sandbox;
    let McpSettings {
        servers: _,
        allowed: _,
        excluded: _,
        server_command: _,
        pin: _,
        search_above: _,
    } = mcp;
}

fn wider(after: &Settings, before: &Settings) -> Vec<&'static str> {
    name_every_field(after);
    let all = [
        wider_lists(after, before),
        wider_values(after, before),
        wider_sandbox(&after.sandbox, &before.sandbox),
    ];
    let named = all.into_iter().flatten();
    named
        .filter_map(|(name, is_within)| (!is_within).then_some(name))
        .collect()
}

fn wider_lists(after: &Settings, before: &Settings) -> Vec<(&'static str, bool)> {
    let (core, mcp) = (after.core.as_ref(), &after.mcp);
    let allowed = mcp.allowed.as_ref();
    let is_plain = |name: &String| !name.contains('/') && name.to_lowercase().ends_with(".md");
    let is_bounded = |name: &String| before.context_file_names.contains(name) || is_plain(name);
    vec![
        ("core", leaves_no_more(core, before.core.as_ref())),
        ("exclude", is_part(&before.exclude, &after.exclude)),
        (
            "context_file_names",
            after.context_file_names.iter().all(is_bounded),
        ),
        (
            "confirmation_required",
            is_part(&before.confirmation_required, &after.confirmation_required),
        ),
        (
            "mcp.allowed",
            leaves_no_more(allowed, before.mcp.allowed.as_ref()),
        ),
        ("mcp.excluded", is_part(&before.mcp.excluded, &mcp.excluded)),
        ("problems", is_part(&before.problems, &after.problems)),
    ]
}

fn wider_values(after: &Settings, before: &Settings) -> Vec<(&'static str, bool)> {
    let secs = |of: &Settings| of.shell_idle_secs.filter(|s| *s > 0).unwrap_or(u64::MAX);
    let chars = |of: &Settings| of.limit_chars().unwrap_or(usize::MAX);
    let turns = |of: &Settings| of.max_turns.unwrap_or(u32::MAX);
    let switches = |of: &Settings| {
        [
            of.disable_llm_correction,
            of.disable_syntax,
            of.disable_yolo,
            of.disable_always_allow,
            of.mcp.pin,
        ]
    };
    let mut is_on = switches(after).into_iter().zip(switches(before));
    let is_same = [
        after.include_directories == before.include_directories,
        after.undo == before.undo,
        after.unseen_changes == before.unseen_changes,
        after.fetch_hosts == before.fetch_hosts,
        after.commands == before.commands,
        after.allowed == before.allowed,
        after.model == before.model,
        after.policy_paths == before.policy_paths,
        after.admin_policy_paths == before.admin_policy_paths,
        after.mcp.servers == before.mcp.servers,
        after.mcp.server_command == before.mcp.server_command,
        after.mcp.search_above == before.mcp.search_above,
    ];
    vec![
        ("limit_chars", chars(after) <= chars(before)),
        ("shell_idle_secs", secs(after) <= secs(before)),
        ("max_turns", turns(after) <= turns(before)),
        ("a switch", is_on.all(|(after, before)| after >= before)),
        ("the user's own values", !is_same.contains(&false)),
    ]
}

fn wider_sandbox(after: &SandboxSettings, before: &SandboxSettings) -> Vec<(&'static str, bool)> {
    // An error keeps commands from running: the strictest mode of all.
    let mode = |of: &SandboxSettings, contained| of.mode(&[], contained).map_or(9, |m| m as u8);
    let agents = |of: &SandboxSettings| match of.default_for_agents("workspace-write", false) {
        Some(name) => SandboxMode::from_name(&name).map_or(9, |m| m as u8),
        None => mode(of, false),
    };
    vec![
        ("sandbox.users", after.modes.users == before.modes.users),
        (
            "sandbox.hosts_users",
            after.containers.users == before.containers.users,
        ),
        ("sandbox.mode", mode(after, false) >= mode(before, false)),
        ("sandbox.contained", mode(after, true) >= mode(before, true)),
        ("sandbox.agents", agents(after) >= agents(before)),
        (
            "sandbox.allowed_paths",
            after.allowed_paths == before.allowed_paths,
        ),
        ("sandbox.network", after.network == before.network),
    ]
}

fn values() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(false),
        json!(-1),
        json!(0),
        json!(1),
        json!(2),
        json!(40_000),
        json!(40_001),
        json!(4_294_967_296_u64),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(-1.5e300),
        json!(7.0),
        json!(""),
        json!("off"),
        json!("read-only"),
        json!("workspace-write"),
        json!("docker"),
        json!("../../evil"),
        json!("A.md"),
        json!("settings.json"),
        json!([]),
        json!(["read_file"]),
        json!(["read_file", "write_file", "x.md"]),
        json!(["/etc", "a.md", "b/c.md", 3]),
        json!({}),
        json!({"enabled": false}),
        json!({"enabled": true, "command": "off"}),
        json!({"a": {"command": "x", "trust": true}}),
    ]
}

fn with_key(file: &mut Value, key: usize, is_old: bool, value: &Value) {
    let key = keys::ALL[key];
    let name = key.old.filter(|_| is_old).unwrap_or(key.name);
    let mut at = &mut *file;
    for part in name.split('.') {
        if !at.is_object() {
            *at = json!({});
        }
        at = &mut at[part];
    }
    *at = value.clone();
}

#[track_caller]
fn check_that_it_restricts(others: &[(Scope, &Value)], project: &Value) {
    let mut with = others.to_vec();
    with.push((Scope::Project, project));
    with.sort_by_key(|(scope, _)| *scope);
    let (before, after) = (said(others), said(&with));
    let wider = wider(&after, &before);
    assert!(wider.is_empty(), "{wider:?}: {project} beside {others:?}");
}

#[test]
fn no_value_of_any_key_in_an_untrusted_project_allows_more() {
    let files = |key, is_old| {
        let file = move |value: &Value| {
            let mut file = json!({});
            with_key(&mut file, key, is_old, value);
            file
        };
        values().iter().map(file).collect::<Vec<_>>()
    };
    for key in 0..keys::ALL.len() {
        for other in files(key, false) {
            for project in files(key, false).iter().chain(&files(key, true)) {
                for scope in [Scope::User, Scope::System] {
                    check_that_it_restricts(&[(scope, &other)], project);
                }
            }
        }
    }
}

#[test]
fn the_keys_have_different_names() {
    let names = keys::ALL
        .iter()
        .flat_map(|key| key.old.into_iter().chain([key.name]));
    let all: Vec<_> = names.collect();
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
}

fn file_with(name: &str) -> Value {
    let wrap = |value, part: &str| json!({part: value});
    name.rsplit('.').fold(json!(true), wrap)
}

fn misspelt(file: &Value) -> Vec<String> {
    let settings = load(&file.to_string(), "{}");
    let notes = settings.notes.iter().map(ToString::to_string);
    notes
        .filter(|note| note.contains("no such setting"))
        .collect()
}

#[test]
fn each_restriction_with_one_letter_wrong_is_named_beside_the_right_name() {
    for name in keys::restricting() {
        let last = name.rfind('.').map_or(0, |dot| dot + 1);
        for at in last..name.len() {
            for new in [
                &name[at + 1..],
                &format!("{}{}", &name[at..=at], &name[at..]),
            ] {
                let written = format!("{}{new}", &name[..at]);
                let is_right = keys::ALL.iter().any(|key| key.name == written);
                let notes = misspelt(&file_with(&written));
                assert_eq!(notes.len(), usize::from(!is_right), "{written}: {notes:?}");
                assert!(is_right || notes[0].contains(name), "{notes:?}");
            }
        }
    }
}

#[test]
fn no_setting_that_gemini_cli_has_is_taken_for_a_misspelt_one() {
    // The names in the documentation of Gemini CLI 0.61.0 of the objects that contain restrictions.
    for name in [
        "admin.extensions.enabled",
        "advanced.autoConfigureMemory",
        "general.vimMode",
        "mcp.allowed",
        "mcp.excluded",
        "mcp.serverCommand",
        "security.allowedEnvironmentVariables",
        "security.allowedExtensions",
        "security.auth.enforcedType",
        "security.autoAddToPolicyByDefault",
        "security.blockGitExtensions",
        "security.blockedEnvironmentVariables",
        "security.disableAlwaysAllow",
        "security.disableYoloMode",
        "security.enableConseca",
        "security.enablePermanentToolApproval",
        "security.environmentVariableRedaction.blocked",
        "security.toolSandboxing",
        "tools.allowed",
        "tools.callCommand",
        "tools.confirmationRequired",
        "tools.core",
        "tools.distillation.maxOutputTokens",
        "tools.exclude",
        "tools.outputMasking.protectLatestTurn",
        "tools.sandbox",
        "tools.sandboxAllowedPaths",
        "tools.sandboxNetworkAccess",
        "tools.shell.pager",
        "tools.useRipgrep",
    ] {
        assert_eq!(misspelt(&file_with(name)), [""; 0], "{name}");
    }
}

fn any_file() -> impl Strategy<Value = Value> {
    let entry = (
        0..keys::ALL.len(),
        any::<bool>(),
        prop::sample::select(values()),
    );
    prop::collection::vec(entry, 0..6).prop_map(|entries| {
        let mut file = json!({});
        for (key, is_old, value) in entries {
            with_key(&mut file, key, is_old, &value);
        }
        file
    })
}

proptest! {
    #[test]
    fn an_untrusted_projects_file_allows_no_more_whatever_it_and_the_others_say(
        defaults in any_file(),
        user in any_file(),
        project in any_file(),
        system in any_file(),
    ) {
        let others = [
            (Scope::SystemDefaults, &defaults),
            (Scope::User, &user),
            (Scope::System, &system),
        ];
        check_that_it_restricts(&others, &project);
    }
}

#[test]
fn what_is_kept_for_undo_is_the_users_word_alone() {
    let user = r#"{"tools": {"undo": {"maxAgeDays": 3, "maxMegabytes": 1.5, "exclude": ["*.pem"], "commands": "on"}}}"#;
    let project = r#"{"tools": {"undo": {"enabled": false, "maxAgeDays": 0, "exclude": ["*"], "commands": "off"}}}"#;
    for settings in [load(user, project), load_trusted(user, project)] {
        assert_eq!(
            settings.undo,
            UndoSettings {
                max_age_days: 3,
                exclude: vec!["*.pem".to_owned()],
                commands: Some(UndoCommands::On),
                ..UndoSettings::default()
            }
        );
        let notes: Vec<String> = settings.notes.iter().map(ToString::to_string).collect();
        for key in [
            "enabled",
            "maxAgeDays",
            "maxMegabytes",
            "exclude",
            "commands",
        ] {
            let key = format!("tools.undo.{key}");
            assert!(
                notes.iter().any(|note| note.contains(&key)),
                "{key}: {notes:?}"
            );
        }
    }
}

#[test]
fn an_extent_of_undo_that_is_unknown_is_named() {
    let settings = load(r#"{"tools": {"undo": {"commands": "some"}}}"#, "{}");
    assert_eq!(settings.undo.commands, None);
    let notes: Vec<String> = settings.notes.iter().map(ToString::to_string).collect();
    let is_named =
        |note: &String| note.contains("tools.undo.commands") && note.contains("off, on or all");
    assert!(notes.iter().any(is_named), "{notes:?}");
}

#[test]
fn a_trusted_projects_limits_take_the_place_of_the_users() {
    let user = r#"{"model": {"name": "m", "maxSessionTurns": 3},
        "tools": {"truncateToolOutputThreshold": 5000, "shell": {"inactivityTimeout": 2}}}"#;
    let project = r#"{"model": {"name": "n", "maxSessionTurns": -1},
        "tools": {"truncateToolOutputThreshold": 0, "shell": {"inactivityTimeout": 0}}}"#;
    let of = |s: &Settings| {
        (
            s.model.clone(),
            s.max_turns,
            s.limit_chars(),
            s.shell_idle_secs,
        )
    };
    let users = (Some("m".to_owned()), Some(3), Some(5000), Some(2));
    let untrusted = load(user, project);
    assert_eq!(of(&untrusted), users);
    for key in [
        "model.name",
        "model.maxSessionTurns",
        "tools.truncateToolOutputThreshold",
        "tools.shell.inactivityTimeout",
    ] {
        assert!(untrusted.needs_trust(key), "{key}: {:?}", untrusted.notes);
    }
    let projects = (Some("n".to_owned()), None, None, Some(0));
    assert_eq!(of(&load_trusted(user, project)), projects);
    // With the two files exchanged, the project's stricter limits count.
    let stricter = load(project, user);
    assert_eq!(
        of(&stricter),
        (Some("n".to_owned()), Some(3), Some(5000), Some(2))
    );
}
