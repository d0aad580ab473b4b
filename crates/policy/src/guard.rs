//! Files that make programs run something: the configuration of builds, hosts, editors, shells and
//! git. They are called guarded here.
//!
//! Writing such a file is as good as running any command, so it needs the user's approval even if a
//! rule allows the call. Yolo mode is exempt, because there a command could write the file anyway.
//! Text for a model (`GEMINI.md`) is not guarded.
//!
//! A file is guarded if its name or that of a directory above it is listed, as written or after
//! links are followed; if a link in a listed directory leads to it; if policy rules are read from
//! it; if it is in a directory of git's own data; or if a configuration starts it ([`started`],
//! [`git`]).

mod git;
mod links;
mod programs;
mod started;
mod written;

pub(super) use programs::writes_by_option;
pub(super) use written::{Unit, matches};

use super::arguments::{self, PATHS};
use super::{Decision, Inquiry, Mode, Policy, PolicyCall, Verdict, defaults, home, patches, shell};
use gemini_tools_core::text::visible;
use gemini_tools_core::tool::Kind;
use gemini_tools_shell::analyse;
use gemini_tools_workspace::Workspace;
use serde_json::Value;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// Files that tell a build what to run. Gemini CLI 0.61 guards the same ones.
const BUILD_FILES: &str = "\
    .bazelrc .blazerc BUILD BUILD.bazel CMakeLists.txt Cargo.lock Cargo.toml Containerfile \
    Dockerfile GNUmakefile MODULE.bazel Makefile WORKSPACE WORKSPACE.bazel build.gradle \
    build.gradle.kts bun.lockb go.mod go.sum makefile package-lock.json package.json \
    pnpm-lock.yaml pom.xml pyproject.toml settings.gradle settings.gradle.kts setup.cfg setup.py \
    yarn.lock";

const ENDINGS: [&str; 6] = ["bzl", "bazel", "bzlmod", "mk", "cmake", "code-workspace"];

/// Directories of agents, editors, git, CI services and builds, and of programs in the home
/// directory. Upper and lower case count as the same, as on some file systems.
pub(super) const DIRECTORIES: &str = "\
    .agent .agents .aider .amazonq .amp .augment .buildkite .cargo .circleci .claude .cline \
    .clinerules .codeium .codex .config .continue .copilot .crush .cursor .devcontainer .direnv \
    .fleet .forgejo .gemini .git .gitea .githooks .github .goose .helix .hg .husky .idea .iflow \
    .junie .kilo .kilocode .kiro .mise .mvn .opencode .qwen .roo .ssh .trae .vscode .windsurf \
    .woodpecker .yarn .zed";

/// Files of agents, editors, git, CI services and builds, like [`DIRECTORIES`] in upper or lower
/// case. `HEAD` is listed because it turns a directory into a git repository, whose settings name
/// programs, and ignore files because they hide other files from tools.
const FILES: &str = "\
    .aider.conf.yml .aiexclude .appveyor.yml .bash_aliases .bash_login .bash_logout .bash_profile \
    .bashrc .cirrus.yml .claude.json .claudeignore .codeiumignore .crush.json .crushrc .cshrc \
    .cursorignore .cursorrules .devcontainer.json .dir-locals.el .drone.yml .env .envrc .exrc \
    .gdbinit .geminiignore .gitconfig .gitlab-ci.yml .gitmodules .gvimrc .inputrc .kshrc \
    .lefthook-local.yml .lefthook.json .lefthook.toml .lefthook.yaml .lefthook.yml .lldbinit \
    .login .mcp.json .mise.local.toml .mise.toml .npmrc .nvim.lua .nvimrc .pnpmfile.cjs \
    .pre-commit-config.yaml .profile .qwenignore .ripgreprc .tcshrc .tool-versions .travis.yml \
    .vimrc .woodpecker.yml .xinitrc .xprofile .xsession .yarnrc .yarnrc.yml .zlogin .zlogout \
    .zprofile .zshenv .zshrc _vimrc appveyor.yml azure-pipelines.yaml azure-pipelines.yml \
    bitbucket-pipelines.yml bun.lock cloudbuild.yaml crush.json crushrc gemini-extension.json \
    go.work HEAD Jenkinsfile kilo.json kilo.jsonc lefthook-local.yml lefthook.json lefthook.toml \
    lefthook.yaml lefthook.yml mcp.json mise.local.toml mise.toml opencode.json opencode.jsonc \
    qwen-extension.json";

const EDIT_WORDS: [&str; 14] = [
    "write", "edit", "replace", "patch", "update", "create", "append", "save", "insert", "modify",
    "move", "rename", "copy", "delete",
];

const MAX_PATH_BYTES: usize = 4096;

const MAX_LINKS: usize = 40;

pub(super) fn ask(asked: Inquiry<'_>, verdict: Verdict, policy: &Policy) -> Verdict {
    if verdict.decision != Decision::Allow || asked.mode == Mode::Yolo {
        return verdict;
    }
    let call = asked.call;
    let patched = patches::paths(call).unwrap_or_default();
    let line = shell::line_of(call).filter(|_| patched.is_empty());
    let line = line.map(|line| verdict.understood.as_deref().unwrap_or(line));
    let analysis = line.map(analyse);
    let unresolved = analysis
        .as_ref()
        .filter(|analysis| !analysis.unresolved.is_empty());
    let unresolved = unresolved.and(line).map(written::without_sourced);
    let named = match unresolved.as_deref() {
        Some(line) => written::parts_of_code(line).collect(),
        None if !patched.is_empty() => patched.iter().map(String::as_str).collect(),
        None if changes_files(call) => paths(call),
        _ => Vec::new(),
    };
    let only_reads = analysis.as_ref().is_none_or(written::only_reads);
    if named.is_empty() && only_reads && !analysis.as_ref().is_some_and(written::runs_code) {
        return verdict;
    }
    let mut guard = Guard::new(&policy.root, &policy.more_roots, home(), &policy.rule_paths);
    let own = line.and_then(|_| directories(call).next());
    let is_own_covered = !only_reads && own.is_some_and(|own| guard.covers(own));
    let is_known = analysis
        .as_ref()
        .is_none_or(|analysis| guard.enter(analysis, own.unwrap_or_default()));
    let is_covered = is_own_covered
        || named.iter().any(|path| guard.covers(path))
        || unresolved
            .as_deref()
            .is_some_and(|line| may_write_any(line, &named) || guard.covers_spelled(line))
        || analysis.is_some_and(|analysis| guard.covers_writes_of(&analysis, is_known));
    if !is_covered {
        return verdict;
    }
    let mut rule =
        "built in: files that programs run or obey change with the user's approval".to_owned();
    if let Some(found) = guard.found.take() {
        rule.push_str(&format!(": {}", visible(&found)));
    }
    Verdict {
        // If this were true, the gate would drop the question when the tool itself has nothing to
        // ask.
        is_default: false,
        ..defaults::ask(asked, 999, &rule)
    }
}

fn changes_files(call: &PolicyCall<'_>) -> bool {
    let mut words = call.name.split(|c: char| !c.is_ascii_alphanumeric());
    matches!(call.kind, Kind::Edit | Kind::Delete | Kind::Move)
        || words.any(|word| EDIT_WORDS.contains(&word.to_ascii_lowercase().as_str()))
}

/// Returns the paths that a call may change. For a tool that is not built in, every short string
/// without a line break in the arguments counts, because its meaning is unknown.
fn paths<'a>(call: &PolicyCall<'a>) -> Vec<&'a str> {
    if call.is_built_in {
        let named = PATHS.iter();
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

/// Returns true if a line of which a part can't be analysed has a redirection, or mentions a program
/// that is known to write or a command of git that sets up a repository. The part may then write a
/// guarded file without naming it in a way that the analysis recognises.
fn may_write_any(line: &str, words: &[&str]) -> bool {
    let has = |program: &str| {
        words
            .iter()
            .any(|word| word.rsplit('/').next() == Some(program))
    };
    written::redirects(line)
        || words.iter().any(|word| programs::is_writer(word))
        || has("git") && ["clone", "config", "init"].into_iter().any(has)
        || has("shopt") && line.contains(['*', '?', '['])
}

fn directories<'a>(call: &PolicyCall<'a>) -> impl Iterator<Item = &'a str> {
    let args = call.args;
    shell::DIRECTORY
        .iter()
        .filter_map(move |key| args.get(*key)?.as_str())
}

struct Guard<'a> {
    root: &'a Path,
    /// The directories to which a relative path may be relative: the project's or, for a line of
    /// shell, each one that it may run in.
    bases: Vec<PathBuf>,
    home: Option<PathBuf>,
    /// Resolves paths as the built-in tools do; `None` if the root can't be opened; then no
    /// built-in tool can write either.
    workspace: Option<Workspace>,
    /// Files and directories that policy rules are read from, and targets of links in
    /// [`DIRECTORIES`].
    places: Vec<PathBuf>,
    /// The paths in commands that configuration files start, without a leading `/` and without
    /// components such as `$HOME` or `~`. A file whose path ends with one of them is guarded, except
    /// Markdown.
    started: Vec<PathBuf>,
    found: RefCell<Option<String>>,
}

impl<'a> Guard<'a> {
    fn new(root: &'a Path, more: &[PathBuf], home: Option<PathBuf>, rules: &[PathBuf]) -> Self {
        let mut places: Vec<PathBuf> = rules.iter().map(|rules| opened(rules)).collect();
        places.extend(links::targets(root, home.as_deref()));
        Self {
            root,
            bases: vec![root.to_owned()],
            places,
            started: started::programs(root, home.as_deref()),
            found: RefCell::new(None),
            workspace: Workspace::open_at(root, more, home.as_deref()).ok(),
            home,
        }
    }

    /// Returns true if a path means a guarded file, or if it has a pattern for hidden names
    /// (`.g*`), which could expand to one.
    fn covers(&self, written: &str) -> bool {
        let is_pattern = |part: &str| part.starts_with('.') && part.contains(['*', '?', '[']);
        let is_covered = written.split('/').any(is_pattern)
            || self
                .meanings(written)
                .iter()
                .any(|path| self.covers_path(path));
        if is_covered {
            self.found.replace(Some(written.to_owned()));
        }
        is_covered
    }

    fn covers_path(&self, path: &Path) -> bool {
        let real = opened(path);
        has_guarded_name(path)
            || has_guarded_name(&real)
            || self.places.iter().any(|place| real.starts_with(place))
            || started::starts(&self.started, &real, self.root)
            || git::holds(&real)
            || git::runs(&real, self.home.as_deref())
    }

    /// Returns the paths that a text may mean: the path as it is spelt, which tools that are not
    /// built in use, and the path to which the built-in tools resolve it.
    fn meanings(&self, written: &str) -> Vec<PathBuf> {
        let written = written.replace('\0', "");
        let spelled = written.replace('\\', "/");
        let mut found: Vec<_> = self.bases.iter().map(|base| base.join(&spelled)).collect();
        let workspace = self.workspace.as_ref();
        if let Some((path, place)) = workspace.and_then(|one| arguments::meant(one, &written)) {
            found.extend(place);
            found.push(self.root.join(path));
        }
        found
    }
}

/// Returns the path of the file that an edit opens or creates. Links are followed, also in
/// directories above it, and even if the file at their end does not exist yet.
pub(super) fn opened(path: &Path) -> PathBuf {
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
        // `canonicalize` also fails for a link whose target does not exist, so the first of the
        // names that it did not find may be such a link.
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
        // In directories such as `.claude/worktrees`, agents keep copies of whole projects. That
        // `.claude` is listed does not make all files of these copies guarded.
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
