//! Files that programs run or obey: what a build, a host, an editor, a shell or git reads there, it does.
//!
//! A change of such a file becomes any command, so it needs the user's approval, whatever rules allow. In the mode yolo
//! commands run as they like, and a guard would stop nothing. Text for a model (`GEMINI.md`) is not among them.
//!
//! A file is guarded by its name or by a directory above it, as it is written and as links lead to it; because a guarded
//! link leads to it; because rules in force come from there; or because a configuration starts it ([`started`], [`git`]).

mod git;
mod links;
mod started;

use super::{Decision, Inquiry, Mode, Policy, PolicyCall, Verdict, defaults, patches, shell};
use gemini_tools_core::text::path_from_argument;
use gemini_tools_core::tool::Kind;
use gemini_tools_settings::settings::home;
use gemini_tools_workspace::Workspace;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Names of files that say what a build runs (Gemini CLI 0.61 guards the same).
const BUILD_FILES: &str = "\
    .bazelrc .blazerc BUILD BUILD.bazel CMakeLists.txt Cargo.lock Cargo.toml Containerfile \
    Dockerfile GNUmakefile MODULE.bazel Makefile WORKSPACE WORKSPACE.bazel build.gradle \
    build.gradle.kts bun.lockb go.mod go.sum makefile package-lock.json package.json \
    pnpm-lock.yaml pom.xml pyproject.toml settings.gradle settings.gradle.kts setup.cfg setup.py \
    yarn.lock";

/// Endings of files that say what a build runs, or what an editor does with a project.
const ENDINGS: [&str; 6] = ["bzl", "bazel", "bzlmod", "mk", "cmake", "code-workspace"];

/// Directories of agents, editors, git, CI services, builds and programs of the home directory, in any case.
pub(super) const DIRECTORIES: &str = "\
    .agent .agents .aider .amazonq .cargo .circleci .claude .cline .clinerules .codex .config .continue \
    .copilot .crush .cursor .devcontainer .direnv .fleet .gemini .git .githooks .github .goose .husky .idea \
    .junie .kiro .mvn .opencode .qwen .roo .ssh .vscode .windsurf .yarn .zed";

/// Files of the same, in any case. `HEAD` makes a directory a repository of git, whose settings name programs; the
/// lists of ignored files close others to tools.
const FILES: &str = "\
    .aider.conf.yml .aiexclude .bash_aliases .bash_login .bash_logout .bash_profile .bashrc .claude.json .claudeignore \
    .codeiumignore .cshrc .cursorignore .cursorrules .env .envrc .exrc .gdbinit .geminiignore .gitconfig .gitlab-ci.yml \
    .gitmodules .inputrc .kshrc .lefthook.yml .lldbinit .login .mcp.json .mise.local.toml .mise.toml .nvimrc .npmrc \
    .pnpmfile.cjs .pre-commit-config.yaml .profile .qwenignore .ripgreprc .tcshrc .tool-versions .vimrc .xinitrc \
    .xprofile .xsession .yarnrc .yarnrc.yml .zlogin .zlogout .zprofile .zshenv .zshrc azure-pipelines.yml \
    bitbucket-pipelines.yml gemini-extension.json HEAD Jenkinsfile lefthook.yml mcp.json mise.toml opencode.json \
    opencode.jsonc qwen-extension.json";

/// Words in the names of tools that change files.
const EDIT_WORDS: [&str; 14] = [
    "write", "edit", "replace", "patch", "update", "create", "append", "save", "insert", "modify",
    "move", "rename", "copy", "delete",
];

/// Arguments of built-in tools that name the file that is changed.
const PATH_ARGUMENTS: [&str; 5] = ["file_path", "absolute_path", "path", "filePath", "file"];

/// Programs that write into files which their operands name.
const WRITERS: &str = "cp dd install ln mkdir mv patch rsync sed tee touch truncate unzip";

/// A longer text is not a path, in bytes.
const MAX_PATH_BYTES: usize = 4096;

/// The number of links that Linux follows.
const MAX_LINKS: usize = 40;

/// Asks about a change of a guarded file that would be allowed.
pub(super) fn ask(asked: Inquiry<'_>, verdict: Verdict, policy: &Policy) -> Verdict {
    if verdict.decision != Decision::Allow || asked.mode == Mode::Yolo {
        return verdict;
    }
    let patched = patches::paths(asked.call).unwrap_or_default();
    let named = match shell::line_of(asked.call) {
        _ if !patched.is_empty() => patched.iter().map(String::as_str).collect(),
        Some(line) => written(asked.call, verdict.understood.as_deref().unwrap_or(line)),
        None if changes_files(asked.call) => paths(asked.call),
        None => Vec::new(),
    };
    if named.is_empty() {
        return verdict;
    }
    let guard = Guard::new(&policy.root, &policy.more_roots, home(), &policy.rule_paths);
    if !named.iter().any(|path| guard.covers(path)) {
        return verdict;
    }
    let rule = "built in: files that programs run or obey change with the user's approval";
    Verdict {
        // What a tool says of itself does not take the question away.
        is_default: false,
        ..defaults::ask(asked, 999, rule)
    }
}

/// Returns true if calls of a tool change files, by its kind or its name.
fn changes_files(call: &PolicyCall<'_>) -> bool {
    let mut words = call.name.split(|c: char| !c.is_ascii_alphanumeric());
    matches!(call.kind, Kind::Edit | Kind::Delete | Kind::Move)
        || words.any(|word| EDIT_WORDS.contains(&word.to_ascii_lowercase().as_str()))
}

/// Returns the paths that a call may change. Of a tool of others nobody knows which argument that is.
fn paths<'a>(call: &PolicyCall<'a>) -> Vec<&'a str> {
    if call.is_built_in {
        let named = PATH_ARGUMENTS.iter();
        return named
            .filter_map(|key| call.args.get(*key)?.as_str())
            .collect();
    }
    let mut found = Vec::new();
    let mut rest: Vec<&Value> = call.args.values().collect();
    while let Some(value) = rest.pop() {
        match value {
            Value::String(text) if text.len() <= MAX_PATH_BYTES && !text.trim().contains('\n') => {
                found.push(text.as_str());
            }
            Value::Array(items) => rest.extend(items),
            Value::Object(map) => rest.extend(map.values()),
            _ => {}
        }
    }
    found
}

/// Returns the words of a line of shell that may name files which it writes, if it redirects or has a program that
/// writes.
fn written<'a>(call: &PolicyCall<'a>, line: &'a str) -> Vec<&'a str> {
    let words: Vec<&str> = line
        .split(|c: char| c.is_whitespace() || "<>|&;()=\"'".contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    let writes = |word: &&str| {
        let name = word.rsplit('/').next().unwrap_or_default();
        WRITERS.split(' ').any(|program| program == name)
    };
    if !line.contains('>') && !words.iter().any(writes) {
        return Vec::new();
    }
    let directories = shell::DIRECTORY.iter();
    let directories = directories.filter_map(|key| call.args.get(*key)?.as_str());
    words.into_iter().chain(directories).collect()
}

/// The places by which files are guarded, besides their names.
struct Guard<'a> {
    root: &'a Path,
    home: Option<PathBuf>,
    /// Says what a text means as a path; `None` where the root can't be opened, and no tool of ours writes.
    workspace: Option<Workspace>,
    /// Files and directories that rules come from, or that guarded links lead to.
    places: Vec<PathBuf>,
    /// Ends of the paths of programs that configurations start.
    started: Vec<PathBuf>,
}

impl<'a> Guard<'a> {
    fn new(root: &'a Path, more: &[PathBuf], home: Option<PathBuf>, rules: &[PathBuf]) -> Self {
        let mut places: Vec<PathBuf> = rules.iter().map(|rules| opened(rules)).collect();
        places.extend(links::targets(root, home.as_deref()));
        Self {
            root,
            places,
            started: started::programs(root, home.as_deref()),
            workspace: Workspace::open_at(root, more, home.as_deref()).ok(),
            home,
        }
    }

    /// Returns true if the file at a path is guarded, however the path is written, or if a pattern may mean one.
    fn covers(&self, written: &str) -> bool {
        let is_pattern = |part: &str| part.starts_with('.') && part.contains(['*', '?', '[']);
        if written.split('/').any(is_pattern) {
            return true;
        }
        self.meanings(written).iter().any(|path| {
            let real = opened(path);
            has_guarded_name(path)
                || has_guarded_name(&real)
                || self.places.iter().any(|place| real.starts_with(place))
                || started::starts(&self.started, &real, self.root)
                || git::runs(&real, self.home.as_deref())
        })
    }

    /// Returns the paths that a text may mean: for our tools, and as it is, for those of others.
    fn meanings(&self, written: &str) -> Vec<PathBuf> {
        let written = written.replace('\0', "");
        let mut found = vec![self.root.join(written.replace('\\', "/"))];
        if let Some(workspace) = &self.workspace
            && let Ok(meant) = workspace.meant(&written)
        {
            let path = path_from_argument(&meant);
            found.extend(
                workspace
                    .place_of(&path)
                    .map(|place| place.path().to_owned()),
            );
            found.push(self.root.join(path));
        }
        found
    }
}

/// Returns the path of the file that an edit opens or creates: links are followed, also those of directories above it,
/// and one that leads to a file that is not there.
fn opened(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let mut existing = path.as_path();
        let mut rest = Vec::new();
        let real = loop {
            if let Ok(real) = std::fs::canonicalize(existing) {
                break real;
            }
            let (Some(name), Some(parent)) = (existing.file_name(), existing.parent()) else {
                return path;
            };
            rest.push(name.to_owned());
            existing = parent;
        };
        // Only the first name below what is there can be a link, to something that is not.
        let Some(first) = rest.pop().map(|name| real.join(name)) else {
            return real;
        };
        let target = std::fs::read_link(&first);
        let full = match &target {
            Ok(target) => real.join(target),
            Err(_) => first,
        };
        path = rest.iter().rev().fold(full, |path, name| path.join(name));
        if target.is_err() {
            break;
        }
    }
    path
}

fn has_guarded_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    let is_listed =
        |list: &str, name: &str| list.split(' ').any(|one| one.eq_ignore_ascii_case(name));
    let parts: Vec<_> = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    let is_guarded = |at: usize| {
        let below = parts.get(at + 1).map_or("", |part| part);
        // Agents keep copies of whole projects there.
        let is_copy = below == "worktrees" && parts[at] != ".git";
        is_listed(DIRECTORIES, &parts[at]) && !is_copy || parts[at] == ".local" && below == "bin"
    };
    BUILD_FILES.split(' ').any(|file| file == name)
        || is_listed(FILES, &name)
        || (0..parts.len()).any(is_guarded)
        || name.starts_with("Dockerfile.")
        || name.starts_with("Containerfile.")
        || ENDINGS.contains(&ending.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests;
