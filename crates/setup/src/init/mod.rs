//! `get_tools init`: adds `get_tools` and `call_tool` to Gemini CLI's settings, or `serve_tools` to
//! those of another host, with all that is needed to use them at once, and undoes all of that.
//!
//! The changes are first collected in a plan, so that a person can review them before any file is
//! touched. A backup of the former text is kept beside a changed file, unless it is Gemini CLI's
//! list of trusted folders. [`undo`] restores the backup if the file is
//! unchanged since; otherwise it removes only what was inserted, if that is recorded.

mod active_content;
mod change;
mod files;
mod host;
mod record;
mod set;
mod splice;
mod tree;

pub use active_content::active_content;
pub use host::plan_host;

pub use change::{FileChange, InitError, Purpose};

use crate::hosts::Host;
use crate::syntax::Syntax;
use change::Project;
use files::{SettingsCommands, policy, quoted, split_program};
use gemini_tools_builtin_tools::SKILL;
use gemini_tools_core::text::show_path;
use gemini_tools_core::tool::Kind;
use gemini_tools_custom_tools::own_program::is_this_installation;
use gemini_tools_process::command::find_program;
use gemini_tools_settings::settings::expanded;
use gemini_tools_workspace::file_owner::FileOwner;
use record::{Edit, Record, WrittenFile};
use set::Set;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
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
    /// The project and the user's home directory, and which of the two is set up.
    pub place: SetupPlace<'a>,
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
#[derive(Debug, Default)]
pub struct SetupPlan {
    /// The changes, in the order in which they are made.
    pub changes: Vec<FileChange>,
    /// Notes for the user.
    pub notes: Vec<String>,
    record: Record,
    record_path: PathBuf,
    home: PathBuf,
    /// Files that an undo leaves alone, because the user has edited them. Their record is kept.
    edited: Vec<PathBuf>,
    /// The project whose files are changed; `None` if they are the user's.
    project: Option<Project>,
    is_undo: bool,
}

const SKILLS: &str = ".agents/skills";

const GEMINI: (&str, Syntax) = ("Gemini CLI", Syntax::Comments);

/// Plans a set-up. Nothing is changed yet. The plan is empty if everything is in place already.
///
/// # Errors
///
/// Returns an error for a file that can't be read or is malformed.
pub fn plan(options: &InitOptions<'_>) -> Result<SetupPlan, InitError> {
    let SetupPlace { home, root, scope } = options.place;
    let mut plan = SetupPlan::begin(options.place, None)?;
    let base = match scope {
        SetupScope::Project => root,
        SetupScope::User => home,
    };
    plan.set_commands(options, &base.join(".gemini/settings.json"))?;
    plan.set_rules(options)?;
    if options.trusts_folder {
        plan.trust(home, root)?;
    }
    if options.has_skill {
        plan.write_skill(&base.join(SKILLS))?;
    }
    Ok(plan)
}

/// Plans to undo what [`plan`] or [`plan_host`] has done. From a file that was edited since, only
/// the inserted text is removed, if that is recorded; otherwise the file is left alone.
///
/// # Errors
///
/// Returns an error for a file that can't be read.
pub fn undo(place: SetupPlace<'_>, host: Option<&Host>) -> Result<SetupPlan, InitError> {
    let mut plan = SetupPlan::begin(place, host)?;
    plan.is_undo = true;
    for file in plan.record.files.clone() {
        plan.restore(&file)?;
    }
    Ok(plan)
}

impl SetupPlan {
    /// Creates an empty plan and loads the record of earlier runs. `None` for the host means Gemini
    /// CLI.
    fn begin(place: SetupPlace<'_>, host: Option<&Host>) -> Result<Self, InitError> {
        let SetupPlace { home, root, scope } = place;
        let project_root = (scope == SetupScope::Project).then_some(root);
        let record_path = record::path(home, project_root, host.map(|host| host.name));
        let project = project_root.map(|root| {
            let own = match host {
                Some(_) => root.to_owned(),
                None => root.join(".gemini"),
            };
            Project::new(root, home, &own)
        });
        Ok(Self {
            record: Record::load(&record_path)?,
            record_path,
            home: home.to_owned(),
            project: project.transpose()?,
            ..Self::default()
        })
    }

    fn real(&self, path: &Path) -> Result<PathBuf, InitError> {
        if path.to_str().is_none() {
            let reason = "its path is not UTF-8, which the record for --undo can't hold";
            return Err(InitError::new(path, reason));
        }
        match &self.project {
            Some(project) => project.real(path),
            None => change::real(path),
        }
    }

    fn read(&self, path: &Path) -> Result<Option<String>, InitError> {
        self.real(path)?;
        change::read(path, self.owner_of(path))
    }

    fn owner_of(&self, path: &Path) -> FileOwner<'_> {
        let project = self.project.as_ref();
        project.map_or(FileOwner::Users, |project| project.owner_of(path))
    }

    /// Returns true if no earlier run is recorded for this host and this project (or user).
    pub fn knows_nothing(&self) -> bool {
        self.record.files.is_empty()
    }

    fn set_commands(
        &mut self,
        options: &InitOptions<'_>,
        settings: &Path,
    ) -> Result<(), InitError> {
        let root = options.place.root;
        let [discovery, call] = own_commands(options.directory);
        let before = self.read(settings)?;
        let there = SettingsCommands::read(before.as_deref().unwrap_or_default());
        let [old_discovery, old_call] = there.in_force();
        let new_discovery = match old_discovery {
            Some(line) if works(&first_word(line), root, is_this_installation) => line.to_owned(),
            Some(line) if is_own_discovery(line, root) => {
                let rest = split_program(line).map_or("", |(_, rest)| rest);
                format!("{}{rest}", quoted(&discovery))
            }
            _ => quoted(&discovery),
        };
        let new_call = match old_call {
            Some(path) if works(&expanded(path), root, is_this_installation) => path.to_owned(),
            _ => call,
        };
        let is_ours = |is_call, text: &str| {
            if is_call {
                is_this_installation(&expanded(text), root)
            } else {
                is_own_discovery(text, root)
            }
        };
        let others = there
            .all()
            .filter(|(_, is_call, text)| !text.trim().is_empty() && !is_ours(*is_call, text));
        let others: Vec<String> = others
            .map(|(key, _, text)| format!("{key} was {text:?}."))
            .collect();
        if !others.is_empty() {
            self.notes.push(format!(
                "{} To keep the tools of such a pair, put its commands into a file NAME.toml in .gemini/tools, as discovery_command and call_command. get_tools init --undo puts them back.",
                others.join(" ")
            ));
        }
        let sets = there.sets(new_discovery, new_call);
        self.set(Purpose::Commands, (settings, GEMINI), before, &sets, None)
    }

    fn set_rules(&mut self, options: &InitOptions<'_>) -> Result<(), InitError> {
        let SetupPlace { home, root, scope } = options.place;
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
        let before = self.read(&path)?;
        if before == after {
            return Ok(());
        }
        if let Some(there) = &before
            && !self.record.wrote(&path, there)
        {
            self.notes.push(format!(
                "{} was not written by init, or was edited since: it stays as it is, and {meaning}. Remove it yourself.",
                show_path(&path)
            ));
            return Ok(());
        }
        self.change(purpose, path, before, after, None)
    }

    fn trust(&mut self, home: &Path, root: &Path) -> Result<(), InitError> {
        let folders = gemini_tools_settings::trust::folders_path(Some(home));
        let Some(folders) = folders.map_err(|e| InitError::new(root, e))? else {
            return Ok(());
        };
        let before = self.read(&folders)?;
        // Any other path is refused when the project's settings are read.
        let set = Set::new(&[root.to_string_lossy()], Some("TRUST_FOLDER".into()));
        self.set(
            Purpose::Trust,
            (&folders, GEMINI),
            before,
            &[set],
            Some(false),
        )
    }

    /// Plans to set values in a settings file. The host's name and syntax are used to check that
    /// the host can read the file before and after the change. `keeps_copy` is `None` if an undo
    /// can only restore the whole file, and else says whether a copy of it is kept.
    fn set(
        &mut self,
        purpose: Purpose,
        (path, (host, syntax)): (&Path, (&str, Syntax)),
        before: Option<String>,
        sets: &[Set],
        keeps_copy: Option<bool>,
    ) -> Result<(), InitError> {
        let fail = |e: String| InitError::new(path, e);
        let text = before.clone().unwrap_or_default();
        syntax.check(host, &text).map_err(fail)?;
        if let Some((after, edit)) = set::set(path, &text, sets).map_err(fail)? {
            syntax.check(host, &after).map_err(fail)?;
            let edit = keeps_copy.map(|keeps_copy| Edit { keeps_copy, ..edit });
            self.change(purpose, path.to_owned(), before, Some(after), edit)?;
        }
        Ok(())
    }

    fn change(
        &mut self,
        purpose: Purpose,
        path: PathBuf,
        before: Option<String>,
        after: Option<String>,
        edit: Option<Edit>,
    ) -> Result<(), InitError> {
        let real = self.real(&path)?;
        let links = std::fs::metadata(&real).map_or(1, |file| file.nlink());
        if links > 1 && after.is_some() {
            let path = show_path(&path);
            self.notes.push(format!(
                "{path} is one of {links} names (hard links) of a file: only under this one it changes."
            ));
        }
        self.changes.push(FileChange {
            path,
            real,
            before,
            after,
            purpose,
            edit,
        });
        Ok(())
    }

    fn restore(&mut self, file: &WrittenFile) -> Result<(), InitError> {
        let path = &file.path;
        let backup = match &file.backup {
            Some(backup) => self.read(backup)?,
            None => None,
        };
        let Some(now) = self.read(path)? else {
            if let (Some(copy), Some(_)) = (&file.backup, backup) {
                let (path, copy) = (show_path(path), show_path(copy));
                self.leave(
                    file,
                    format!("{path} was deleted since. What was there before is in {copy}."),
                );
            }
            return Ok(());
        };
        let after = match &file.edit {
            // The change was never made, or has been reverted by hand.
            None if backup.as_deref() == Some(&*now) => return Ok(()),
            _ if file.is_as_written(&now) && (file.is_new || backup.is_some()) => backup.clone(),
            Some(edit) => match set::take_out(path, &now, edit) {
                Ok(after) => Some(after.unwrap_or_else(|| now.clone()))
                    .filter(|after| !(file.is_new && is_empty(after))),
                Err(e) => {
                    let why = InitError::new(path, e);
                    self.leave(file, format!("{why}. The file stays as it is."));
                    return Ok(());
                }
            },
            None => {
                let copy = file.backup.as_ref().filter(|_| backup.is_some());
                let copy =
                    copy.map(|copy| format!(" What was there before is in {}.", show_path(copy)));
                let path = show_path(path);
                let copy = copy.unwrap_or_default();
                self.leave(file, format!("{path} stays: it was edited since.{copy}"));
                return Ok(());
            }
        };
        if let (Some(copy), Some(backup)) = (&file.backup, backup)
            && !holds(after.as_deref().unwrap_or_default(), &backup)
        {
            let [copy, path] = [copy, path].map(|path| show_path(path));
            let note = format!("{copy} stays: not all of its lines are still in {path}.");
            self.leave(file, note);
        }
        if after.as_deref() == Some(&*now) {
            return Ok(());
        }
        let edit = file.edit.clone();
        self.change(Purpose::Undo, path.clone(), Some(now), after, edit)
    }

    fn leave(&mut self, file: &WrittenFile, note: String) {
        self.notes.push(note);
        self.edited.push(file.path.clone());
    }

    /// Writes the files, each atomically, and only if it has not changed since the plan was made.
    /// Except in an undo, the record is written first, so that any intermediate state can be
    /// undone.
    ///
    /// # Errors
    ///
    /// Returns an error if a file has changed meanwhile, or can't be written.
    pub fn apply(&self) -> Result<(), InitError> {
        // A concurrent run waits here, and then notices that shared files have changed.
        let home = File::open(&self.home).map_err(|e| InitError::new(&self.home, e))?;
        let _ = home.lock();
        for change in &self.changes {
            change.check(self.owner_of(&change.path))?;
        }
        if !self.is_undo && !self.changes.is_empty() {
            self.record_changes()?;
        }
        for change in &self.changes {
            change.make(self.owner_of(&change.path))?;
        }
        if self.is_undo {
            self.forget()?;
        }
        Ok(())
    }

    fn record_changes(&self) -> Result<(), InitError> {
        let mut record = self.record.clone();
        record.add_made(&change::missing(&self.record_path));
        let mut backups = Vec::new();
        for change in &self.changes {
            let backup = record.add(change, &change::missing(&change.path));
            backups.extend(backup.map(|backup| (change, backup)));
        }
        for (change, backup) in &backups {
            let is_ours = self
                .record
                .file(&change.path)
                .is_some_and(|file| file.backup.is_some());
            if !is_ours && std::fs::symlink_metadata(backup).is_ok() {
                let reason =
                    "init keeps its copy of the settings under this name; move this file away";
                return Err(InitError::new(backup, reason));
            }
        }
        record.save(&self.record_path)?;
        for (change, backup) in &backups {
            let text = change.before.as_deref().unwrap_or_default();
            change::copy(&change.real, &self.real(backup)?, text)
                .map_err(|e| InitError::new(backup, e))?;
        }
        Ok(())
    }

    /// After an undo, removes the backups, the record, and directories that were created and are
    /// now empty.
    fn forget(&self) -> Result<(), InitError> {
        let mut left = self.record.clone();
        let is_left = |file: &WrittenFile| self.edited.contains(&file.path);
        for file in left.files.iter().filter(|file| !is_left(file)) {
            if let Some(backup) = &file.backup {
                record::remove(backup)?;
            }
        }
        left.files.retain(is_left);
        let own = self.record_path.parent();
        if left.files.is_empty() {
            record::remove(&self.record_path)?;
            // Another host may still have files in a directory that was created for this one.
            let others = own.into_iter().filter_map(|own| own.read_dir().ok());
            let mut others = others.flatten().flatten().map(|other| other.path());
            let other = others.find_map(|path| Some((Record::load(&path).ok()?, path)));
            if let Some((mut other, path)) = other {
                other.add_made(&left.made);
                other.save(&path)?;
            }
        } else {
            left.save(&self.record_path)?;
        }
        left.made.sort();
        for directory in own
            .into_iter()
            .chain(left.made.iter().rev().map(PathBuf::as_path))
        {
            // This fails if the directory is not empty, which is intended.
            let _ = std::fs::remove_dir(directory);
        }
        Ok(())
    }
}

/// Returns true if a text has all lines of an older one, in their order.
fn holds(text: &str, older: &str) -> bool {
    let mut lines = text.split('\n');
    older.split('\n').all(|line| lines.any(|one| one == line))
}

fn is_empty(text: &str) -> bool {
    text.split_whitespace()
        .collect::<String>()
        .trim_matches(['{', '}'])
        .is_empty()
}

/// Returns the discovery and the call command for the settings, not quoted: Gemini CLI takes the
/// whole call command for a path.
fn own_commands(directory: Option<&Path>) -> [String; 2] {
    ["get_tools", "call_tool"].map(|name| match directory {
        Some(directory) => show_path(&directory.join(name)).into_owned(),
        None => name.to_owned(),
    })
}

fn first_word(command: &str) -> String {
    split_program(&expanded(command)).map_or_else(String::new, |(word, _)| word)
}

fn is_own_discovery(command: &str, root: &Path) -> bool {
    is_this_installation(&first_word(command), root)
}

/// Returns true if a program is ours and can be found, so that the entry that names it can stay.
fn works(program: &str, root: &Path, is_ours: fn(&str, &Path) -> bool) -> bool {
    let is_bare = Path::new(program).parent() == Some(Path::new(""));
    is_ours(program, root) && (!is_bare || find_program(OsStr::new(program)).is_some())
}
