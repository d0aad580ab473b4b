//! The arguments of a call as the texts that patterns of rules match.
//!
//! Who makes a call chooses how its arguments are written, so a rule that restricts tries its
//! pattern on each writing, and a rule that allows on those only that can't be chosen to please it:
//! undeclared arguments, which a tool ignores, and objects within arguments could hold the text
//! that it looks for.

use super::guard::opened;
use super::text::{quoted, stable_json};
use super::{Policy, PolicyCall, rule};
use gemini_tools_builtin_tools::builtin;
use gemini_tools_core::text::path_from_argument;
use gemini_tools_workspace::Workspace;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

pub(super) const PATHS: [&str; 7] = [
    "file_path",
    "absolute_path",
    "path",
    "filePath",
    "file",
    "dir_path",
    "directory",
];

/// The texts of a call's arguments with which the patterns of rules are compared.
///
/// A rule that restricts matches if its pattern matches any text in `any` or, for a pattern about
/// absolute paths, in `absolute`. A rule that allows must be certain: its pattern must match all
/// texts of one of the groups in `sure`, which differ in the names of arguments. If an argument was
/// given under two names (`is_ambiguous`), only the tool knows which one counts, so no rule that
/// allows matches.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) any: Vec<String>,
    pub(super) absolute: Vec<String>,
    pub(super) sure: Vec<Vec<String>>,
    pub(super) is_ambiguous: bool,
}

/// What each path in a call's arguments means, by the path as it is written there.
#[derive(Debug, Default)]
pub(super) struct Meant(BTreeMap<String, Places>);

/// A path as the tools resolve it, once with its links and once with these followed: relative to
/// the project, if it is in it, and absolute.
#[derive(Debug, Default)]
struct Places {
    relative: [Option<PathBuf>; 2],
    absolute: [Option<PathBuf>; 2],
    is_absolute: bool,
}

impl Places {
    fn named(&self, at: usize, is_absolute: bool) -> Option<Value> {
        let paths = if is_absolute {
            &self.absolute
        } else {
            &self.relative
        };
        let path = paths[at].as_ref()?.to_string_lossy();
        Some(Value::from(if path.is_empty() { "." } else { &path }))
    }
}

/// Returns the path that the built-in tools read from an argument, and, if it is in the workspace,
/// also the path to which they resolve that.
pub(super) fn meant(workspace: &Workspace, written: &str) -> Option<(PathBuf, Option<PathBuf>)> {
    let path = path_from_argument(&workspace.meant(written).ok()?);
    let place = workspace.place_of(&path);
    Some((path, place.map(|place| place.path().to_owned())))
}

impl Policy {
    /// Returns what the paths in a call's arguments mean; nothing if no rule has a pattern.
    pub(super) fn meant(&self, call: &PolicyCall<'_>) -> Meant {
        let written = PATHS
            .iter()
            .filter_map(|name| call.args.get(*name)?.as_str());
        let written: BTreeSet<&str> = written.collect();
        if written.is_empty() || !self.has_patterns() {
            return Meant::default();
        }
        let home = super::home();
        let workspace = Workspace::open_at(&self.root, &self.more_roots, home.as_deref());
        let workspace = workspace.ok();
        let places = |text: &&str| {
            let workspace = workspace.as_ref()?;
            let (path, place) = meant(workspace, &text.replace('\0', ""))?;
            let place = place.unwrap_or_else(|| self.root.join(&path));
            let both = [place.clone(), opened(&place)];
            let beneath = |path: &Path| {
                let mut roots = [&*self.root, workspace.root()].into_iter();
                roots.find_map(|root| Some(path.strip_prefix(root).ok()?.to_owned()))
            };
            let places = Places {
                relative: both.each_ref().map(|path| beneath(path)),
                absolute: both.map(Some),
                is_absolute: path.is_absolute(),
            };
            Some(((*text).to_owned(), places))
        };
        Meant(written.iter().filter_map(places).collect())
    }

    fn has_patterns(&self) -> bool {
        let looks = |rule: &rule::Rule| matches!(rule.condition, rule::Condition::Pattern(_));
        self.rules.iter().any(looks)
    }

    pub(super) fn texts(&self, call: &PolicyCall<'_>, meant: &Meant) -> Texts {
        let mut texts = Texts::default();
        if !self.has_patterns() {
            return texts;
        }
        let (namings, is_ambiguous) = namings(call);
        texts.is_ambiguous = is_ambiguous;
        for args in &namings {
            texts.any.push(stable_json(args));
            let sure = sure(call, args);
            let mut group = vec![stable_json(args), stable_json(&sure)];
            for at in if meant.0.is_empty() { 0..0 } else { 0..2 } {
                let named = |places: &Places| places.named(at, false);
                texts.any.push(stable_json(&meant.put_into(args, &named)));
                let named = |places: &Places| places.named(at, true);
                texts
                    .absolute
                    .push(stable_json(&meant.put_into(args, &named)));
                let alike = |places: &Places| places.named(at, places.is_absolute);
                group.push(stable_json(&meant.put_into(&sure, &alike)));
            }
            group.dedup();
            texts.sure.push(group);
        }
        texts
    }
}

impl Meant {
    fn put_into(
        &self,
        args: &Map<String, Value>,
        named: &dyn Fn(&Places) -> Option<Value>,
    ) -> Map<String, Value> {
        let mut args = args.clone();
        for (name, value) in &mut args {
            let places = value.as_str().filter(|_| PATHS.contains(&name.as_str()));
            if let Some(path) = places.and_then(|text| named(self.0.get(text)?)) {
                *value = path;
            }
        }
        args
    }
}

/// Returns the arguments once for each combination of old and new argument names, because the
/// pattern of a rule may use any of them, and whether one was given under two names.
fn namings(call: &PolicyCall<'_>) -> (Vec<Map<String, Value>>, bool) {
    let mut namings = vec![call.args.clone()];
    let mut is_ambiguous = false;
    let declared = call.renamed.iter().map(|(_, declared)| *declared);
    for declared in declared.collect::<BTreeSet<&str>>() {
        let others = call.renamed.iter().filter(|(_, d)| *d == declared);
        let names: Vec<&str> = others.map(|(other, _)| *other).chain([declared]).collect();
        let mut given = names.iter().filter(|name| call.args.contains_key(**name));
        let Some(one) = given.next() else {
            continue;
        };
        is_ambiguous |= given.next().is_some();
        for args in namings.clone() {
            for name in names.iter().filter(|name| !args.contains_key(**name)) {
                let mut args = args.clone();
                let value = args.remove(*one).unwrap_or_default();
                args.insert((*name).to_owned(), value);
                namings.push(args);
            }
        }
    }
    (namings, is_ambiguous)
}

/// Returns the arguments that the tool declares, with objects within them as texts. What a foreign
/// tool declares is not known here; of its arguments those are left out whose names, as JSON, could
/// be read as two.
fn sure(call: &PolicyCall<'_>, args: &Map<String, Value>) -> Map<String, Value> {
    let tool = call.is_built_in.then(|| builtin::find_exactly(call.name));
    let is_declared = |name: &str| match tool.flatten() {
        Some(tool) => tool.knows_argument(name),
        None => quoted(name).len() == name.len() + 2,
    };
    let args = args.iter().filter(|(name, _)| is_declared(name));
    args.map(|(name, value)| (name.clone(), flat(value)))
        .collect()
}

fn flat(value: &Value) -> Value {
    match value {
        Value::Object(_) => Value::from(value.to_string()),
        Value::Array(items) => items.iter().map(flat).collect(),
        value => value.clone(),
    }
}
