//! What the files say when they are read together.

use super::{Scope, Settings};
use crate::process::sandbox::Mode;
use crate::trust::{ProjectTrust, Trust, TrustedBy};
use std::path::Path;

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
        (r#"{"context": {"fileName": ["", "x.md"]}}"#, "a/b.txt"),
    ] {
        let settings = load(user, project);
        assert_eq!(settings.context_file_name.as_deref(), Some(name));
    }
    assert_eq!(load("{}", "{}").context_file_name, None);
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
    let mode = |user: &str, project: &str| load(user, project).sandbox.mode(None, false).ok();
    let of = |mode: &str| format!(r#"{{"tools": {{"sandbox": {mode}}}}}"#);
    let (write, read) = (of("\"workspace-write\""), of("\"read-only\""));
    for (user, project, expected) in [
        ("{}", "{}", Some(Mode::Off)),
        ("{}", &*write, Some(Mode::WorkspaceWrite)),
        (&*write, &*read, Some(Mode::ReadOnly)),
        (&*read, &*of("\"off\""), Some(Mode::ReadOnly)),
        (&*of("true"), &*of("false"), Some(Mode::WorkspaceWrite)),
        (&*of("\"docker\""), "{}", None),
        ("{}", &*of("3"), None),
        (
            &*of(r#"{"enabled": false, "command": "x"}"#),
            "{}",
            Some(Mode::Off),
        ),
        (
            &*of(r#"{"enabled": true}"#),
            "{}",
            Some(Mode::WorkspaceWrite),
        ),
    ] {
        assert_eq!(mode(user, project), expected, "{user} {project}");
    }
    let docker = load(&of("\"docker\""), "{}").sandbox;
    assert_eq!(docker.mode(None, true).ok(), Some(Mode::Off));
    assert_eq!(
        docker.mode(Some("read-only"), true).ok(),
        Some(Mode::ReadOnly)
    );
    assert!(docker.mode(Some("of"), true).is_err());
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
    assert!(s.problems[0].contains("tools.core"), "{:?}", s.problems);
    assert!(
        s.notes[0]
            .to_string()
            .contains("tools.truncateToolOutputThreshold")
    );
}
