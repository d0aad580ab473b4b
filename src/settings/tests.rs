//! What the files say when they are read together.

use super::Settings;
use crate::process::sandbox::Mode;
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
    assert!(!s.allows(&["glob"]) && !s.allows(&["read_file", "ReadFileTool"]));
    assert!(s.allows(&["run_shell_command"]) && !s.allows(&["replace"]));
    assert_eq!(s.limit_chars(), Some(7));
    assert_eq!(
        s.include_directories.len(),
        1,
        "a project can't widen the workspace"
    );
    assert!(s.include_directories[0].ends_with("home/lib"));
}

#[test]
fn entries_with_parentheses_restrict_the_calls_of_a_tool() {
    let s = load(
        r#"{"excludeTools": ["run_shell_command( rm -rf )", "ShellTool(sudo)", "glob(x)"]}"#,
        r#"{"tools": {"core": ["read_file", "ShellTool(git status)", "run_shell_command(ls)"]}}"#,
    );
    let shell = s.restrictions(&["run_shell_command", "ShellTool"]);
    assert_eq!(shell.allow, Some(vec!["git status".into(), "ls".into()]));
    assert_eq!(shell.deny, ["rm -rf", "sudo"]);
    let all = load(
        "{}",
        r#"{"coreTools": ["ShellTool(ls)", "discovered_tool_run_shell_command"]}"#,
    );
    assert_eq!(
        all.restrictions(&["run_shell_command", "ShellTool"]).allow,
        None
    );
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
    assert!(s.allows(&["glob"]));
    let none = Settings::load(None, Path::new("/nonexistent"));
    assert!(none.problems.is_empty() && none.files.is_empty());
}
