use super::{Guard, has_guarded_name, opened, spellings};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

struct Place {
    _dir: tempfile::TempDir,
    root: PathBuf,
    home: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let base = dir.path().canonicalize().expect("its name");
        let (root, home) = (base.join("project"), base.join("home"));
        for made in [root.join("src"), home.join(".gemini")] {
            fs::create_dir_all(made).expect("made");
        }
        Self {
            _dir: dir,
            root,
            home,
        }
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().expect("one")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn covers(&self, path: &str) -> bool {
        let home = Some(&*self.home);
        let guard = Guard {
            root: &self.root,
            home: home.map(Path::to_owned),
            places: super::links::targets(&self.root, home),
            started: super::started::programs(&self.root, home),
        };
        guard.covers(path)
    }
}

#[test]
fn files_that_programs_obey_are_guarded_by_name_at_any_depth_and_in_any_case() {
    for name in [
        ".gemini/tools/x.sh",
        "a/b/.GEMINI/settings.json",
        ".qwen/settings.json",
        ".claude/agents/x.md",
        ".codex/config.toml",
        ".cursor/mcp.json",
        ".mcp.json",
        "sub/.MCP.json",
        ".vscode/tasks.json",
        ".git/hooks/x",
        "sub/.git",
        ".husky/pre-commit",
        ".envrc",
        ".env",
        ".idea/runConfigurations/x.xml",
        ".github/workflows/ci.yml",
        "/home/you/.bashrc",
        "/home/you/.ssh/config",
        "/home/you/.local/bin/ls",
        "a.code-workspace",
        "x/HEAD",
        ".geminiignore",
        "package.json",
        "/p/.claude/worktrees/w/.claude/settings.json",
    ] {
        assert!(has_guarded_name(Path::new(name)), "{name}");
    }
    for name in [
        "src/main.rs",
        "GEMINI.md",
        "AGENTS.md",
        "gemini/tools/x.sh",
        "git/hooks",
        "src/env.rs",
        ".env.example",
        ".gitignore",
        "docs/.github.md",
        "/p/.claude/worktrees/w/src/a.rs",
        "/home/you/.local/share/x",
        "mcp.rs",
    ] {
        assert!(!has_guarded_name(Path::new(name)), "{name}");
    }
}

#[test]
fn a_path_is_taken_in_all_ways_in_which_it_may_be_written() {
    let home = Path::new("/home/you");
    let means = |written: &str, path: &str| {
        let all = spellings(written, Some(home));
        assert!(all.iter().any(|one| one == path), "{written}: {all:?}");
    };
    means(" \".gemini/x\"\n", ".gemini/x");
    means("'a'", "a");
    means("file:///p/%2egemini/x", "/p/.gemini/x");
    means("FILE://localhost/p/a%20b", "/p/a b");
    means("~/.bashrc", "/home/you/.bashrc");
    means("${HOME}/x", "/home/you/x");
    means(".gemini\\x", ".gemini/x");
    means("100%", "100%");
}

#[test]
fn links_are_followed_whatever_is_missing_behind_them() {
    let place = Place::new();
    fs::create_dir_all(place.root.join(".gemini/tools")).expect("made");
    symlink(".gemini/tools", place.root.join("t")).expect("a link");
    symlink("missing/.gemini", place.root.join("m")).expect("a link");
    symlink("loop", place.root.join("loop")).expect("a link");
    for path in ["t/new.sh", "t/new/new.sh", "src/../t/x", "m/tools/x.sh"] {
        assert!(place.covers(path), "{path}");
    }
    for path in ["src/new.rs", "new/t/x", "loop", "loop/x"] {
        assert!(!place.covers(path), "{path}");
    }
    assert_eq!(
        opened(&place.root.join("m/x")),
        place.root.join("missing/.gemini/x")
    );
}

#[test]
fn what_a_guarded_link_leads_to_is_guarded() {
    let place = Place::new();
    place.write("dot/settings.json", "{}");
    place.write("scripts/x.sh", "");
    place.write(".claude/hooks/readme", "");
    symlink("dot", place.root.join(".gemini")).expect("a link");
    symlink("../../scripts/x.sh", place.root.join(".claude/hooks/x.sh")).expect("a link");
    for path in ["dot/settings.json", "dot/tools/new", "scripts/x.sh"] {
        assert!(place.covers(path), "{path}");
    }
    assert!(!place.covers("scripts/y.sh"));
}

#[test]
fn programs_that_a_configuration_starts_are_guarded() {
    let place = Place::new();
    for (file, text) in [
        (
            ".gemini/settings.json",
            r#"{"tools": {"discoveryCommand": "python3 ./find.py --all"}, "context": {"fileName": "notes.txt"}}"#,
        ),
        (
            ".mcp.json",
            r#"{"mcpServers": {"s": {"command": "node", "args": ["./server/dist/run.js"], "cwd": "x"}}}"#,
        ),
        (
            ".vscode/tasks.json",
            "{\"tasks\": [{\"command\": \"${workspaceFolder}/scripts/task.sh\"}] // a comment\n}",
        ),
        (
            ".claude/settings.json",
            r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "$CLAUDE_PROJECT_DIR/bin/hook.sh"}]}]}}"#,
        ),
        (
            ".codex/config.toml",
            "[mcp_servers.s]\ncommand = \"python3\"\nargs = [\"lib/codex.py\"]\n",
        ),
        (
            ".gemini/tools/x.toml",
            "description = \"d\"\ncommand = [\"python3\", \"pkg\"]\n",
        ),
    ] {
        place.write(file, text);
    }
    for path in [
        "find.py",
        "server/dist/run.js",
        "scripts/task.sh",
        "bin/hook.sh",
        "lib/codex.py",
        "pkg/__main__.py",
    ] {
        assert!(place.covers(path), "{path}");
    }
    for path in [
        "notes.txt",
        "run.js",
        "src/find.rs",
        "other/__main__.py",
        "scripts/other.sh",
    ] {
        assert!(!place.covers(path), "{path}");
    }
}
