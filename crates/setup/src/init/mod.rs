//! `get_tools init`: adds `get_tools` and `call_tool` to Gemini CLI's settings, or `serve_tools` to
//! those of another host, with all that is needed to use them at once, and undoes all of that.
//!
//! The changes are first collected in a plan, so that a person can review them before any file is
//! touched. [`undo`] takes out exactly what was put in, also of a file that was edited since. A
//! copy of the former text is kept beside a changed file for the case that it can't, except of
//! Gemini CLI's list of trusted folders, which is about other projects, too.

mod active_content;
mod change;
mod files;
mod host;
mod record;
mod set;
mod splice;

pub use active_content::active_content;
pub use host::plan_host;

pub use change::{FileChange, InitError, Purpose};

use crate::hosts::Host;
use crate::syntax::Syntax;
use files::{command_sets, policy};
use gemini_tools_builtin_tools::SKILL;
use gemini_tools_core::text::show_path;
use gemini_tools_core::tool::Kind;
use gemini_tools_process::command::find_program;
use record::{Owner, Record, WrittenFile};
use set::{Edit, Set};
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Where the set-up applies.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SetupScope {
    /// In the project of the current directory.
    #[default]
    Project,
    /// In all of the user's projects.
    User,
}

/// Which files a set-up changes: those of one project or of the user.
#[derive(Debug, Clone, Copy)]
pub struct SetupPlace<'a> {
    /// The user's home directory.
    pub home: &'a Path,
    /// The project's directory, an absolute path.
    pub root: &'a Path,
    /// Where the set-up applies.
    pub scope: SetupScope,
}

/// The tools that Gemini CLI may call without asking the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allow {
    /// The tools that only read what is in the project.
    ReadOnly,
    /// Every tool.
    All,
    /// No tool: rules of an earlier run are removed.
    Nothing,
}

/// The options of a set-up.
#[derive(Debug, Clone)]
pub struct InitOptions<'a> {
    /// The tools that may be called without asking.
    pub allow: Allow,
    /// The directory of `get_tools` and `call_tool`; `None` if they are on the `PATH`.
    pub directory: Option<&'a Path>,
    /// The tools that exist in every project, with their kinds. Rules apply to all projects, so
    /// that a rule for a project's own tool would also allow another project's tool of the same
    /// name.
    pub tools: &'a [(String, Kind)],
    /// True to put the project on Gemini CLI's list of trusted folders.
    pub trusts_folder: bool,
    /// True to install the skill.
    pub has_skill: bool,
}

/// A list of changes, and notes for the user.
#[derive(Debug)]
pub struct SetupPlan<'a> {
    /// The changes, in the order in which they are made.
    pub changes: Vec<FileChange>,
    /// Notes for the user.
    pub notes: Vec<String>,
    place: SetupPlace<'a>,
    reader: (&'a str, Syntax),
    record: Record,
    owner: Owner,
    /// Files that an undo does not finish. Their record and their copy are kept.
    left: Vec<PathBuf>,
    /// Set if an undo leaves something that init has written.
    pub is_incomplete: bool,
    /// Files that are in place already because another set-up has written them. They stay until
    /// each of the two is undone.
    shared: Vec<PathBuf>,
    is_undo: bool,
}

const SKILLS: &str = ".agents/skills";

/// Plans a set-up. Nothing is changed yet. The plan is empty if everything is in place already.
///
/// # Errors
///
/// Returns an error for a file that can't be read or is malformed.
pub fn plan<'a>(
    place: SetupPlace<'a>,
    options: &InitOptions<'_>,
) -> Result<SetupPlan<'a>, InitError> {
    let SetupPlace { home, root, scope } = place;
    let mut plan = SetupPlan::begin(place, None)?;
    let base = match scope {
        SetupScope::Project => root,
        SetupScope::User => home,
    };
    plan.set_commands(options, &base.join(".gemini/settings.json"))?;
    plan.set_rules(options)?;
    if options.trusts_folder {
        plan.trust()?;
    }
    if options.has_skill {
        plan.write_skill(&base.join(SKILLS))?;
    }
    Ok(plan)
}

/// Plans to undo what [`plan`] or [`plan_host`] has done. What others have changed in the files
/// since stays as it is.
///
/// # Errors
///
/// Returns an error for a file that can't be read.
pub fn undo<'a>(place: SetupPlace<'a>, host: Option<&'a Host>) -> Result<SetupPlan<'a>, InitError> {
    let mut plan = SetupPlan::begin(place, host)?;
    plan.is_undo = true;
    let files: Vec<WrittenFile> = plan.record.of(&plan.owner).cloned().collect();
    for file in files {
        plan.restore(&file)?;
    }
    Ok(plan)
}

impl<'a> SetupPlan<'a> {
    fn begin(place: SetupPlace<'a>, host: Option<&'a Host>) -> Result<Self, InitError> {
        let SetupPlace { home, root, scope } = place;
        let root = (scope == SetupScope::Project).then_some(root);
        let reader = host.map_or(("Gemini CLI", Syntax::Comments), |host| {
            (&host.title, host.syntax)
        });
        let owner = Owner {
            root: root.map(Path::to_owned),
            host: host.map_or("gemini", |host| host.name).to_owned(),
        };
        Ok(Self {
            changes: Vec::new(),
            notes: Vec::new(),
            place,
            reader,
            record: Record::load_for(home, &owner, reader.1)?,
            owner,
            left: Vec::new(),
            is_incomplete: false,
            shared: Vec::new(),
            is_undo: false,
        })
    }

    /// Returns true if no earlier run is recorded for this host and this project (or user).
    pub fn knows_nothing(&self) -> bool {
        self.record.of(&self.owner).next().is_none()
    }

    fn written(&self, path: &Path) -> Option<&WrittenFile> {
        self.record.of(&self.owner).find(|file| file.path == path)
    }

    fn set_commands(
        &mut self,
        options: &InitOptions<'_>,
        settings: &Path,
    ) -> Result<(), InitError> {
        let before = self.place.read(settings)?;
        let text = before.as_deref().unwrap_or_default();
        let (sets, others) = command_sets(options.directory, self.place.root, text);
        if !others.is_empty() {
            self.notes.push(format!(
                "{} To keep the tools of such a pair, put its commands into a file NAME.toml in .gemini/tools, as discovery_command and call_command. get_tools init --undo puts them back.",
                others.join(" ")
            ));
        }
        self.set(Purpose::Commands, settings, before, &sets)
    }

    fn set_rules(&mut self, options: &InitOptions<'_>) -> Result<(), InitError> {
        let SetupPlace { home, root, scope } = self.place;
        let file = match scope {
            SetupScope::User => "gemini-tools.toml".to_owned(),
            SetupScope::Project => format!("gemini-tools-{}.toml", record::name(root)),
        };
        let path = home.join(".gemini/policies").join(file);
        let rules = policy(options.tools, options.allow);
        let (purpose, after) = match options.allow {
            Allow::Nothing => (Purpose::Undo, None),
            _ => (Purpose::Rules, Some(rules)),
        };
        self.write(purpose, path, after, "its rules apply")
    }

    fn write_skill(&mut self, directory: &Path) -> Result<(), InitError> {
        let path = directory.join("gemini-tools/SKILL.md");
        let text = Some(SKILL.to_owned());
        self.write(Purpose::Skill, path, text, "the host reads it")
    }

    /// Plans to write or remove a file that only `init` should write. If someone else has written
    /// or edited it, it is left alone, and a note says what follows from that.
    fn write(
        &mut self,
        purpose: Purpose,
        path: PathBuf,
        after: Option<String>,
        meaning: &str,
    ) -> Result<(), InitError> {
        let before = self.place.read(&path)?;
        if before == after {
            if self.written(&path).is_none() && self.record.others(&self.owner, &path).is_some() {
                self.shared.push(path);
            }
            return Ok(());
        }
        let is_ours = |text: &String| {
            self.written(&path)
                .is_some_and(|file| file.is_as_written(text))
        };
        if !before.as_ref().is_none_or(is_ours) {
            self.notes.push(format!(
                "{} was not written by init, or was edited since: it stays as it is, and {meaning}. Remove it yourself.",
                show_path(&path)
            ));
            return Ok(());
        }
        self.change(purpose, path, before, after, Vec::new())
    }

    fn trust(&mut self) -> Result<(), InitError> {
        let SetupPlace { home, root, .. } = self.place;
        let folders = gemini_tools_settings::trust::folders_path(Some(home));
        let Some(folders) = folders.map_err(|e| InitError::new(root, e))? else {
            return Ok(());
        };
        let before = self.place.read(&folders)?;
        // A path that is not UTF-8 does not get here: it is refused when the project's settings are
        // read.
        let set = Set::new(&[root.to_string_lossy()], Some("TRUST_FOLDER".into()));
        self.set(Purpose::Trust, &folders, before, &[set])
    }

    fn set(
        &mut self,
        purpose: Purpose,
        path: &Path,
        before: Option<String>,
        sets: &[Set],
    ) -> Result<(), InitError> {
        let (host, syntax) = self.reader;
        let fail = |e: String| InitError::new(path, e);
        let mut text = before.clone().unwrap_or_default();
        syntax.check(host, &text).map_err(fail)?;
        let mut edits = Vec::new();
        for set in sets {
            if let Some((after, edit)) = set::set(syntax, &text, set).map_err(fail)? {
                text = after;
                edits.push(edit);
            }
        }
        if edits.is_empty() {
            return Ok(());
        }
        self.change(purpose, path.to_owned(), before, Some(text), edits)
    }

    fn change(
        &mut self,
        purpose: Purpose,
        path: PathBuf,
        before: Option<String>,
        after: Option<String>,
        edits: Vec<Edit>,
    ) -> Result<(), InitError> {
        let real = self.place.real(&path)?;
        let is_settings = matches!(purpose, Purpose::Commands | Purpose::Server);
        let copy = record::copy_of(&path);
        let has_copy = std::fs::symlink_metadata(&copy).is_ok();
        let known = self.written(&path);
        let lacks_copy = before
            .as_deref()
            .is_some_and(|text| known.is_none_or(|file| !has_copy && file.is_unwritten(text)));
        let needs_copy = is_settings && lacks_copy;
        if needs_copy && has_copy {
            let reason = "init keeps its copy of the settings under this name; move this file away";
            return Err(InitError::new(&copy, reason));
        }
        self.changes.push(FileChange {
            path,
            real,
            before,
            after,
            purpose,
            edits,
            needs_copy,
        });
        Ok(())
    }

    fn restore(&mut self, file: &WrittenFile) -> Result<(), InitError> {
        let path = &file.path;
        if file.is_whole() && self.record.others(&self.owner, path).is_some() {
            return Ok(());
        }
        let former = match file.copy() {
            Some(copy) => self.place.read(&copy)?.map(|text| (copy, text)),
            None => None,
        };
        let before = self.place.read(path)?;
        let (after, problem) = match &before {
            None => (
                None,
                former.is_some().then(|| "was deleted since".to_owned()),
            ),
            Some(now) => match file.undone(now, self.reader.1) {
                Ok(after) => (after, None),
                Err(e) => {
                    self.is_incomplete = true;
                    (Some(now.clone()), Some(format!("stays: {e}")))
                }
            },
        };
        let shown = show_path(path);
        let note = match (&former, problem) {
            (Some((copy, _)), Some(problem)) => Some(format!(
                "{shown} {problem}. What was there before is in {}.",
                show_path(copy)
            )),
            (None, Some(problem)) => Some(format!("{shown} {problem}.")),
            (Some((copy, text)), None) if !holds(after.as_deref().unwrap_or_default(), text) => {
                Some(format!(
                    "{} stays: not all of its lines are still in {shown}.",
                    show_path(copy)
                ))
            }
            _ => None,
        };
        if let Some(note) = note {
            self.notes.push(note);
            self.left.push(path.clone());
        }
        if before == after {
            return Ok(());
        }
        self.change(Purpose::Undo, path.clone(), before, after, Vec::new())
    }

    /// Writes the files, each atomically, and only if it has not changed since the plan was made.
    /// Except in an undo, the record is written first, so that any intermediate state can be
    /// undone.
    ///
    /// # Errors
    ///
    /// Returns an error if a file has changed meanwhile, or can't be written.
    pub fn apply(&self) -> Result<(), InitError> {
        let Self { place, owner, .. } = self;
        let home = place.home;
        // A concurrent run waits here, and then notices that shared files have changed.
        let directory = File::open(home).map_err(|e| InitError::new(home, e))?;
        let _ = directory.lock();
        for change in &self.changes {
            change.check(place)?;
        }
        let mut record = Record::load_for(home, owner, self.reader.1)?;
        if !self.is_undo && !self.changes.is_empty() {
            for change in &self.changes {
                record.add(home, owner, change);
            }
            for path in &self.shared {
                record.share(owner, path);
            }
            record.save(home)?;
            for change in self.changes.iter().filter(|change| change.needs_copy) {
                change.copy(place)?;
            }
        }
        for change in &self.changes {
            change.make(place)?;
        }
        if self.is_undo {
            record.forget(home, owner, &self.left)?;
        }
        Ok(())
    }
}

fn holds(text: &str, older: &str) -> bool {
    let mut lines = text.split('\n');
    older.split('\n').all(|line| lines.any(|one| one == line))
}

/// Returns true if a program is ours and can be found, so that the entry that names it can stay.
fn works(program: &str, root: &Path, is_ours: fn(&str, &Path) -> bool) -> bool {
    let is_bare = Path::new(program).parent() == Some(Path::new(""));
    is_ours(program, root) && (!is_bare || find_program(OsStr::new(program)).is_some())
}
