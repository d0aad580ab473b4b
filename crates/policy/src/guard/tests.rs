use super::{Guard, has_guarded_name, opened};
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
        Guard::new(&self.root, &[], Some(self.home.clone()), &[]).covers(path)
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
        ".amp/settings.json",
        "kilo.json",
        ".mcp.json",
        "sub/.MCP.json",
        ".vscode/tasks.json",
        ".git/hooks/x",
        "sub/.git",
        ".husky/pre-commit",
        ".envrc",
        ".devcontainer.json",
        "lefthook.yaml",
        ".hg/hgrc",
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
    let place = Place::new();
    fs::create_dir_all(place.root.join(".gemini/tools")).expect("made");
    fs::create_dir_all(place.root.join("a/b")).expect("made");
    symlink(".gemini/tools", place.root.join("t\u{e9}")).expect("a link");
    symlink("a/b", place.root.join("l")).expect("a link");
    place.write("t/x", "");
    symlink("../t", place.root.join(".gemini/policies")).expect("a link");
    let root = place.root.display();
    for path in [
        " \".gemini/x\"\n",
        "'.gemini/x'",
        &format!("file://{root}/%2egemini/x"),
        &format!("FILE://localhost{root}/.gemini/a%20b"),
        "~/.bashrc",
        "${HOME}/.gemini/x",
        ".gemini\\x",
        // Tools show the bytes of names that are not plain text in this form, and accept it.
        "t\\x{c3}\\x{a9}/x.sh",
        // Our tools remove `l/..` from the text of a path, without following the link `l`.
        "l/../t/x",
    ] {
        assert!(place.covers(path), "{path}");
    }
    for path in ["100%", "a/x", "~x", ""] {
        assert!(!place.covers(path), "{path}");
    }
}

#[test]
fn what_git_starts_is_guarded_in_the_repository_a_worktree_and_below() {
    let place = Place::new();
    place.write(
        ".git/config",
        "[core]\n hooksPath = scripts/\"my hooks\"\n[filter \"x\"]\n clean = ./tools/clean.sh %f\n\
         [alias]\n st = status b.txt\n go = !sh bin/go\n[credential]\n helper = store\n\
         [remote \"origin\"]\n url = ../a/b\n uploadPack = up/pack\n[init]\n templateDir = tpl\n\
         [core]\n alternateRefsCommand = sh refs.sh\n gitProxy = \"p/proxy\" for host\n\
         [submodule \"s\"]\n update = !./sub/update\n[pager]\n fetch = ./bin/less\n\
         [commit]\n template = ./doc/commit\n[user]\n name = A a.txt\n",
    );
    place.write("sub/.git", "gitdir: ../.git/modules/sub\n");
    place.write(".git/modules/sub/config", "[core]\n hooksPath = h\n");
    place.write("wt/.git", "gitdir: ../.git/worktrees/wt\n");
    place.write(".git/worktrees/wt/commondir", "../..\n");
    for path in [
        "scripts/my hooks/pre-commit",
        "tools/clean.sh",
        "bin/go",
        "up/pack",
        "tpl/hooks/post-checkout",
        "refs.sh",
        "p/proxy",
        "sub/update",
        "bin/less",
        "sub/h/post-merge",
        "wt/scripts/my hooks/x",
    ] {
        assert!(place.covers(path), "{path}");
    }
    for path in [
        "scripts/x",
        "status",
        "src/store/index.ts",
        "a/b",
        "h/x",
        "doc/commit",
        "a.txt",
        "b.txt",
    ] {
        assert!(!place.covers(path), "{path}");
    }
}

#[test]
fn gits_own_files_are_guarded_whatever_their_directory_is_called() {
    let place = Place::new();
    for bare in ["meta", "fix.git"] {
        place.write(&format!("{bare}/HEAD"), "ref: refs/heads/main\n");
        for made in ["objects", "refs"] {
            fs::create_dir_all(place.root.join(bare).join(made)).expect("made");
        }
    }
    place.write("wt/HEAD", "ref: refs/heads/main\n");
    place.write("wt/commondir", "../meta\n");
    for path in [
        "meta",
        "meta/config",
        "meta/hooks/x",
        "fix.git/worktrees/w/config.worktree",
        "wt/config.worktree",
    ] {
        assert!(place.covers(path), "{path}");
    }
    place.write("docs/objects/a", "");
    place.write("docs/refs/a", "");
    place.write("fix.git/main/.git", "gitdir: ../worktrees/main\n");
    for path in ["docs/config", "fix/config", "src/x", "fix.git/main/src/x"] {
        assert!(!place.covers(path), "{path}");
    }
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

#[test]
fn a_redirection_is_one_unless_it_goes_to_a_descriptor_or_nowhere() {
    for text in [
        "x >f",
        "x >> f",
        "x &>f",
        "x >&f",
        "x >&1f",
        "x >&1/../f",
        "x >&1.f",
        "x >/dev/nullf",
        "x 2>&1 >f",
    ] {
        assert!(super::written::redirects(text), "{text}");
    }
    for text in [
        "x",
        "x 2>&1",
        "x >&2;y",
        "x >&-",
        "x >/dev/null",
        "x >>/dev/null 2>&1|y",
        "x &> /dev/null",
    ] {
        assert!(!super::written::redirects(text), "{text}");
    }
}
