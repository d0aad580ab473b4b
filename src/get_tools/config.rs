//! `get_tools config`: the settings and rules in force, their sources, and what is ignored.

use crate::get_tools::print::print;
use gemini_tools::diagnostic::Diagnostic;
use gemini_tools::policy::Policy;
use gemini_tools::session::{PolicyOptions, Project};
use gemini_tools::settings::{EffectiveValue, Scope, Settings, SettingsLines, UNTRUSTED};
use gemini_tools::text::{counted, show_path, visible};
use gemini_tools::trust::Fingerprint;
use gemini_tools::variables::{self, Variable};
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const VARIABLES: [&str; 6] = [
    "GEMINI_CLI_HOME",
    "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
    "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
    "GEMINI_CLI_TRUSTED_FOLDERS_PATH",
    "GEMINI_CLI_TRUST_WORKSPACE",
    "GEMINI_RESTRICTED_MODE",
];

struct Report {
    root: PathBuf,
    settings: Settings,
    policy: Policy,
    in_force: Vec<EffectiveValue>,
    brings: Vec<String>,
    obstacle: Option<String>,
    variables: Vec<Variable>,
    files: BTreeMap<Scope, PathBuf>,
    lines: RefCell<SettingsLines>,
}

pub(crate) fn run(as_json: bool, policies: &[String]) -> anyhow::Result<u8> {
    let root = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    // The project's settings have their variables expanded, since paths of policy files may contain
    // some.
    let project = Project::open(&root);
    let mut options = PolicyOptions::default();
    options.policy = policies.iter().map(PathBuf::from).collect();
    let mut policy = project.policy(&options);
    let (home, meant) = (project.home, project.settings);
    let settings = Settings::load_unexpanded(home.as_deref(), &root, meant.trust.clone());
    let names = gemini_tools::doctor::tool_names(&meant, home.as_deref(), &root);
    let unknown = policy.unknown_tools(&names);
    policy.problems.extend(unknown);
    let (brings, obstacle) = match Fingerprint::look(&root) {
        Ok(seen) => (seen.files().map(str::to_owned).collect(), None),
        Err(e) => (Vec::new(), Some(e.to_string())),
    };
    let of_host = |name: &&str| {
        let value = std::env::var_os(name)?;
        let name = (*name).to_owned();
        let file = None;
        Some(Variable { name, value, file })
    };
    let mut variables: Vec<Variable> = VARIABLES.iter().filter_map(of_host).collect();
    variables.extend(variables::NAMES.into_iter().flat_map(variables::values));
    let file = |scope: Scope| Some((scope, scope.file(home.as_deref(), &root)?));
    let report = Report {
        in_force: settings.in_force(),
        settings,
        policy,
        brings,
        obstacle,
        variables,
        files: Scope::ALL.into_iter().filter_map(file).collect(),
        lines: RefCell::new(SettingsLines::new(home.as_deref(), &root)),
        root,
    };
    let text = if as_json {
        let json = report.json();
        serde_json::to_string_pretty(&json).unwrap_or_default() + "\n"
    } else {
        report.text()
    };
    print(text.as_bytes())
}

impl Report {
    fn file_of(&self, scope: Scope) -> Option<&Path> {
        self.files.get(&scope).map(PathBuf::as_path)
    }

    fn is_read(&self, scope: Scope) -> bool {
        self.settings.files.iter().any(|(of, _)| *of == scope)
    }

    fn line_of(&self, scope: Scope, key: &str) -> Option<usize> {
        let file = self.file_of(scope)?;
        self.lines.borrow_mut().line_of(file, key)
    }

    fn json(&self) -> Value {
        let settings: Vec<Value> = self
            .in_force
            .iter()
            .map(|one| {
                let from: Vec<Value> = one.from.iter().map(|s| self.place(*s, &one.key)).collect();
                json!({ "key": one.key, "value": one.value, "from": from })
            })
            .collect();
        let left_out: Vec<Value> = self
            .settings
            .notes
            .iter()
            .map(|note| {
                let mut place = self.place(self.scope_of(note), &note.place.key);
                place["key"] = note.place.key.clone().into();
                place["why"] = note.message.clone().into();
                place["needsTrust"] = (note.code == UNTRUSTED).into();
                place
            })
            .collect();
        let files: Vec<Value> = self
            .files
            .iter()
            .map(|(scope, path)| {
                json!({
                    "scope": scope.name(),
                    "file": show_path(path),
                    "read": self.is_read(*scope),
                })
            })
            .collect();
        let of_environment = self.variables.iter().filter(|one| one.file.is_none());
        let of_environment: Map<String, Value> = of_environment
            .map(|one| (one.name.clone(), one.text().into()))
            .collect();
        let of_files = self.variables.iter().filter_map(|one| {
            let file = show_path(one.file.as_deref()?);
            Some(json!({ "name": one.name, "value": one.text(), "file": file }))
        });
        json!({
            "trust": {
                "root": show_path(&self.root),
                "trusted": self.settings.trust.is_trusted(),
                "why": self.settings.trust.to_string(),
                "brings": self.brings,
                "obstacle": self.obstacle,
            },
            "settings": settings,
            "leftOut": left_out,
            "problems": self.settings.problems,
            "refusal": self.policy.obstacle(),
            "files": files,
            "policy": self.policy_json(),
            "environment": of_environment,
            "environmentFiles": of_files.collect::<Vec<_>>(),
        })
    }

    fn policy_json(&self) -> Value {
        let files = self.policy.files.iter().map(|file| {
            let path = show_path(&file.path);
            json!({ "tier": file.tier, "file": path, "rules": file.rules })
        });
        json!({ "files": files.collect::<Vec<_>>(), "problems": self.policy.problems })
    }

    fn policy_text(&self) -> String {
        let mut text = "\nPolicy files, highest precedence first\n".to_owned();
        for file in &self.policy.files {
            text.push_str(&format!(
                "  {:15} {}  ({})\n",
                file.tier.name(),
                visible(&show_path(&file.path)),
                counted(file.rules, "rule")
            ));
        }
        if self.policy.files.is_empty() {
            text.push_str("  none\n");
        }
        for problem in &self.policy.problems {
            text.push_str(&format!("  {}\n", visible(&problem.text())));
        }
        text
    }

    fn scope_of(&self, note: &Diagnostic) -> Scope {
        let file = note.place.file();
        let of_it = self
            .files
            .iter()
            .find(|(_, path)| Some(path.as_path()) == file);
        of_it.map_or(Scope::Project, |(scope, _)| *scope)
    }

    fn place(&self, scope: Scope, key: &str) -> Value {
        let line = self.line_of(scope, key);
        json!({
            "scope": scope.name(),
            "file": self.file_of(scope).map(show_path),
            "line": line,
        })
    }

    fn text(&self) -> String {
        let mut text = format!("Project {}\n", visible(&show_path(&self.root)));
        text.push_str(&format!("  {}", visible(&self.settings.trust.to_string())));
        if !self.settings.trust.is_trusted() && !self.brings.is_empty() {
            text.push_str("; get_tools trust shows what it brings");
        }
        text.push('\n');
        if let Some(obstacle) = &self.obstacle {
            text.push_str(&format!("  can't be trusted: {}\n", visible(obstacle)));
        }
        for file in &self.brings {
            text.push_str(&format!("  brings {}\n", visible(file)));
        }
        if let Some(refusal) = self.policy.obstacle() {
            text.push_str(&format!("\n{}\n", visible(&refusal)));
        }
        text.push_str("\nFiles, a later one overrides an earlier one\n");
        for (scope, path) in &self.files {
            let is_broken = |problem: &&Diagnostic| {
                problem.code == "settings-unreadable" && problem.place.file() == Some(path)
            };
            let state = match self.settings.problems.iter().find(is_broken) {
                Some(_) => "  (not read, it has a fault)",
                None if self.is_read(*scope) => "",
                None => "  (none)",
            };
            let path = show_path(path);
            text.push_str(&format!(
                "  {:15} {}{state}\n",
                scope.name(),
                visible(&path)
            ));
        }
        text.push_str(&self.policy_text());
        text.push_str("\nIn force\n");
        for one in &self.in_force {
            let from: Vec<String> = one.from.iter().map(|s| self.source(*s, &one.key)).collect();
            let value = one.value.to_string();
            let (key, value) = (visible(&one.key), visible(&value));
            text.push_str(&format!("  {key} = {value}\n      {}\n", from.join(", ")));
        }
        if self.in_force.is_empty() && self.variables.is_empty() {
            text.push_str("  nothing but the defaults\n");
        }
        text.push_str(&self.variables_text());
        if !self.settings.notes.is_empty() || !self.settings.problems.is_empty() {
            text.push_str("\nNot in force\n");
        }
        for note in &self.settings.notes {
            let key = &note.place.key;
            let source = self.source(self.scope_of(note), key);
            text.push_str(&format!(
                "  {}: {}\n      {source}\n",
                visible(key),
                visible(&note.message)
            ));
        }
        for problem in &self.settings.problems {
            text.push_str(&format!("  {}\n", visible(&problem.text())));
        }
        text
    }

    fn variables_text(&self) -> String {
        let variables = self.variables.iter().map(|one| {
            let (value, place) = (one.text(), one.file.as_deref().map(show_path));
            let place = place.as_deref().unwrap_or("environment");
            let (value, place) = (visible(&value), visible(place));
            format!("  {} = {value}\n      {place}\n", one.name)
        });
        variables.collect()
    }

    fn source(&self, scope: Scope, key: &str) -> String {
        let line = self.line_of(scope, key);
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        let file = self.file_of(scope).map(show_path).unwrap_or_default();
        format!("{}: {}{line}", scope.name(), visible(&file))
    }
}
