//! `get_tools init`: puts the two commands into Gemini CLI's settings, with all that they need to
//! be used at once, and takes all of that back.
//!
//! What is to be written is a list of changes, made before anything is touched, so that a person
//! can look at it. What was there before is kept in a copy beside the file, which [`undo`] puts back
//! as long as the file is as it was left.

mod active_content;
mod change;
mod env_line;
mod files;
mod json;
mod lock;
mod record;

pub use active_content::active_content;
pub(crate) use env_line::OUTPUT;

pub use change::{Change, InitError, Purpose};
pub use lock::Lock;

use change::Project;
pub(crate) use files::MODES_BUT_PLAN;
use files::{CALL, DISCOVERY, Named, Pair, pair_file, policy, quoted, split_program};
use gemini_tools_core::text::show_path;
use gemini_tools_core::tool::Kind;
use gemini_tools_core::variables::host_name;
use gemini_tools_custom_tools::own_program::is_this_installation;
use gemini_tools_process::command::find_program;
use gemini_tools_settings::env_file;
use gemini_tools_settings::settings::expanded;
use gemini_tools_settings::trust::Trust;
use gemini_tools_workspace::edit::diff_texts;
use gemini_tools_workspace::file_owner::FileOwner;
use json::Set;
use record::{Edit, Record, WrittenFile};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The maximum number of pairs that are kept.
const MAX_PAIRS: usize = 100;

/// The projects in which the commands are to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupScope {
    /// In the project of the current directory.
    Project,
    /// In all of the user's projects.
    User,
}

/// The tools that Gemini CLI may call without asking the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allow {
    /// The tools that only read what is in the project.
    ReadOnly,
    /// Every tool.
    All,
    /// None: no rules are written.
    Nothing,
}

/// The wishes of the user.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    /// The user's home directory.
    pub home: &'a Path,
    /// The project's directory, an absolute path.
    pub root: &'a Path,
    /// The projects in which the commands are to count.
    pub scope: SetupScope,
    /// The tools that need no consent.
    pub allow: Allow,
    /// The directory of the two executables; `None` where they are found by their names.
    pub directory: Option<&'a Path>,
    /// The tools that every project has, by name, with what they do to the world: rules count in
    /// all projects, so one for a project's own tool would allow another project's tool of its name.
    pub tools: &'a [(String, Kind)],
    /// True to put the project on Gemini CLI's list of trusted folders.
    pub trusts_folder: bool,
    /// True to give Gemini CLI answers in the form for hosts.
    pub host_form: bool,
}

/// The changes, in their order.
#[derive(Debug, Default)]
pub struct SetupPlan {
    /// The files.
    pub changes: Vec<Change>,
    /// The notes for a person besides.
    pub notes: Vec<String>,
    /// The record of earlier runs; of an undo, what stays of it.
    record: Record,
    record_path: PathBuf,
    /// Changes that the user does not want, by their paths.
    declined: Vec<PathBuf>,
    /// The commands that are put into the settings.
    commands: Option<Pair>,
    /// The project whose files are changed; `None` where they are the user's.
    project: Option<Project>,
    is_undo: bool,
}

/// Plans what [`Wanted`] asks for. Nothing is changed yet, and where all is in place already
/// there is nothing to change.
///
/// # Errors
///
/// Returns an error for a file that can't be read, or that is not what it should be.
pub fn plan(wanted: &Wanted<'_>) -> Result<SetupPlan, InitError> {
    let Wanted {
        home, root, scope, ..
    } = *wanted;
    let record_path = record::path(home, (scope == SetupScope::Project).then_some(root));
    let mut plan = SetupPlan {
        record: Record::load(&record_path)?,
        record_path,
        project: project(scope, home, root)?,
        ..SetupPlan::default()
    };
    let base = match scope {
        SetupScope::Project => root,
        SetupScope::User => home,
    };
    let gemini = base.join(".gemini");
    let pairs = plan.set_commands(wanted, &gemini.join("settings.json"))?;
    plan.note_hidden(wanted);
    let tools = gemini.join("tools");
    plan.real(&tools)?;
    for pair in &pairs {
        plan.add_pair(&tools, &pair_file(pair))?;
    }
    plan.set_rules(wanted)?;
    if wanted.trusts_folder {
        plan.trust(home, root)?;
    }
    if wanted.host_form {
        plan.set_host_form(home, root)?;
    }
    Ok(plan)
}

/// Plans the way back from what [`plan`] has done here. A file that was edited since stays.
///
/// # Errors
///
/// Returns an error for a file that can't be read.
pub fn undo(home: &Path, root: &Path, scope: SetupScope) -> Result<SetupPlan, InitError> {
    let record_path = record::path(home, (scope == SetupScope::Project).then_some(root));
    let record = Record::load(&record_path)?;
    let mut plan = SetupPlan {
        record_path,
        project: project(scope, home, root)?,
        is_undo: true,
        ..SetupPlan::default()
    };
    for file in &record.files {
        plan.restore(file)?;
    }
    plan.record = record;
    Ok(plan)
}

fn project(scope: SetupScope, home: &Path, root: &Path) -> Result<Option<Project>, InitError> {
    let project = (scope == SetupScope::Project).then(|| Project::new(root, home));
    project.transpose()
}

impl SetupPlan {
    /// Follows the links of a file that is to be changed.
    fn real(&self, path: &Path) -> Result<PathBuf, InitError> {
        match &self.project {
            Some(project) => project.real(path),
            None => change::real(path),
        }
    }

    /// Reads a file that is to be changed; `None` where there is no such file.
    fn read(&self, path: &Path) -> Result<Option<String>, InitError> {
        self.real(path)
            .map_err(|e| change::dangling(path).unwrap_or(e))?;
        change::read(path, self.whose(path))
    }

    fn whose(&self, path: &Path) -> FileOwner<'_> {
        let project = self.project.as_ref();
        project.map_or(FileOwner::Users, |project| project.whose(path))
    }

    /// Returns true if an earlier run has written nothing here.
    pub fn knows_nothing(&self) -> bool {
        self.record.files.is_empty()
    }

    /// Puts the two commands into the settings. Returns the pairs of other programs that were
    /// there.
    fn set_commands(
        &mut self,
        wanted: &Wanted<'_>,
        settings: &Path,
    ) -> Result<Vec<Pair>, InitError> {
        let (discovery, call) = own_commands(wanted.directory)?;
        let before = self.read(settings)?;
        let named = Named::read(before.as_deref().unwrap_or_default());
        let program = |command: &str| Some(split_program(command)?.0);
        // What an earlier run has put there from another place is ours too.
        let (put, put_call) = self.record.commands.clone().unwrap_or_default();
        let was_put =
            |command: &str| program(&put).is_some_and(|put| Some(put) == program(command));
        let is_own = |command: &str| was_put(command) || is_own_discovery(command, wanted.root);
        let is_own_call =
            |call: &str| put_call == call || is_this_installation(&expanded(call), wanted.root);
        let new_discovery = match named.discovery() {
            Some(there) if works(&first_word(there), wanted.root) => there.to_owned(),
            Some(there) if is_own(there) => {
                let rest = split_program(there).map_or("", |(_, rest)| rest);
                format!("{}{rest}", quoted(&discovery))
            }
            _ => quoted(&discovery),
        };
        let new_call = match named.call() {
            Some(there) if works(&expanded(there), wanted.root) => there.to_owned(),
            _ => call,
        };
        let mut pairs = named.pairs();
        pairs.retain(|(discovery, call)| !is_own(discovery) && !is_own_call(call));
        // What a stranger has put there would run as a tool of ours, once this file is trusted.
        let is_strangers = wanted.scope == SetupScope::Project
            && !pairs.is_empty()
            && !Trust::of(Some(wanted.home), wanted.root).is_trusted();
        let (why, remedy) = if is_strangers {
            pairs.clear();
            (
                "the project is not trusted.",
                " To keep its tools, look at them first: get_tools init --undo, get_tools trust, get_tools init.",
            )
        } else {
            (
                "alone, without the other command of its pair, it can't be called.",
                " get_tools init --undo puts it back.",
            )
        };
        let is_kept = |text: &str| pairs.iter().any(|(d, c)| d == text || c == text);
        let gone: Vec<String> = named
            .all()
            .filter(|(_, is_call, text)| {
                let is_ours = if *is_call {
                    is_own_call(text)
                } else {
                    is_own(text)
                };
                !text.trim().is_empty() && !is_ours && !is_kept(text)
            })
            .map(|(key, _, text)| format!("{key} was {text:?}, which is not kept: {why}{remedy}"))
            .collect();
        let mut sets = vec![
            Set::new(&DISCOVERY, Some(new_discovery.clone())),
            Set::new(&CALL, Some(new_call.clone())),
        ];
        // Gemini CLI 0.8.2 would put what they say in the place of ours.
        sets.extend(named.old_keys.iter().map(|key| Set::new(&[key], None)));
        self.set(Purpose::Commands, settings, before, &sets, None)?;
        self.commands = Some((new_discovery, new_call));
        self.notes.extend(gone);
        Ok(pairs)
    }

    /// Notes that commands of the user's own settings count no longer in the project.
    fn note_hidden(&mut self, wanted: &Wanted<'_>) {
        let settings = wanted.home.join(".gemini/settings.json");
        if wanted.scope == SetupScope::User {
            return;
        }
        // Whatever is wrong with that file is said by others.
        let text = change::read(&settings, FileOwner::Users)
            .ok()
            .flatten()
            .unwrap_or_default();
        let pairs = Named::read(&text).pairs();
        let is_foreign = |pair: &&Pair| !is_own_discovery(&pair.0, wanted.root);
        if let Some((discovery, _)) = pairs.iter().find(is_foreign) {
            self.notes.push(format!(
                "In this project the commands of {} ({discovery}) count no longer; get_tools init --user keeps their tools, there and here.",
                show_path(&settings)
            ));
        }
    }

    /// Keeps a pair of another program, in a file of its own.
    fn add_pair(&mut self, tools: &Path, text: &str) -> Result<(), InitError> {
        for number in 1..=MAX_PAIRS {
            let name = match number {
                1 => "earlier_pair.toml".to_owned(),
                number => format!("earlier_pair_{number}.toml"),
            };
            let path = tools.join(name);
            let is_planned = self.changes.iter().any(|change| change.path == path);
            let there = self.read(&path)?;
            if is_planned || there.as_deref().is_some_and(|there| there != text) {
                continue;
            }
            if there.is_some() {
                let shown = show_path(&path);
                self.notes.push(format!(
                    "{shown} keeps the commands that were there before."
                ));
                return Ok(());
            }
            let after = Some(text.to_owned());
            return self.change(Purpose::EarlierPair, path, None, after, None);
        }
        Err(InitError::new(
            tools,
            "there are too many files earlier_pair*.toml; remove those that are not needed",
        ))
    }

    /// Writes the rules, or takes back those of an earlier run.
    fn set_rules(&mut self, wanted: &Wanted<'_>) -> Result<(), InitError> {
        let file = match wanted.scope {
            SetupScope::User => "gemini-tools.toml".to_owned(),
            SetupScope::Project => format!("gemini-tools-{}.toml", record::name(wanted.root)),
        };
        let path = wanted.home.join(".gemini/policies").join(file);
        if wanted.allow != Allow::Nothing {
            return self.add(Purpose::Rules, path, &policy(wanted.tools, wanted.allow));
        }
        let Some(there) = self.read(&path)? else {
            return Ok(());
        };
        if self.record.wrote(&path, &there) {
            return self.change(Purpose::Undo, path, Some(there), None, None);
        }
        self.notes.push(format!(
            "{} was not written by init, or was edited since: its rules still apply. Remove it yourself.",
            show_path(&path)
        ));
        Ok(())
    }

    /// Has Gemini CLI get answers in the form for hosts, unless the user has chosen one.
    fn set_host_form(&mut self, home: &Path, root: &Path) -> Result<(), InitError> {
        let path = env_file::of_user(home);
        let shown = show_path(&path).into_owned();
        let before = match self.read(&path) {
            Ok(before) => before,
            // The rest can be done without it.
            Err(e) => {
                self.notes
                    .push(format!("Text instead of JSON can't be chosen: {e}"));
                return Ok(());
            }
        };
        let text = before.clone().unwrap_or_default();
        let variables = env_file::variables(&text);
        let chosen = variables.iter().rfind(|(name, _)| name == env_line::OUTPUT);
        if let Some((name, value)) = chosen {
            if value != "host" {
                self.notes
                    .push(format!("{shown} has {name}={value}, which stays."));
            }
            return Ok(());
        }
        self.note_nearer_form(home, root, &path);
        let line = env_line::appended(&text, env_line::HOST_FORM);
        let after = Some(text + &line);
        self.change(
            Purpose::HostForm,
            path,
            before,
            after,
            Some(Edit::Line(line)),
        )
    }

    /// Notes that the file of variables that Gemini CLI reads in this project chooses another form: by the environment,
    /// which comes before the user's file.
    fn note_nearer_form(&mut self, home: &Path, root: &Path, users: &Path) {
        let nearer = env_file::in_force(Some(home), root);
        let Some(nearer) = nearer.filter(|file| file != users) else {
            return;
        };
        let whose = FileOwner::by_location(&nearer, Some(home), root);
        // Whatever is wrong with that file is the host's business.
        let text = whose.read(&nearer).ok().flatten().unwrap_or_default();
        let variables = env_file::variables(&text);
        let is_form = |name: &str| name == env_line::OUTPUT || name == host_name(env_line::OUTPUT);
        let other = variables.iter().rfind(|(name, _)| is_form(name));
        if let Some((name, value)) = other.filter(|(_, value)| value != "host") {
            self.notes.push(format!(
                "In this project {} comes first, which has {name}={value}.",
                show_path(&nearer)
            ));
        }
    }

    /// Adds the project to Gemini CLI's trusted folders.
    fn trust(&mut self, home: &Path, root: &Path) -> Result<(), InitError> {
        let folders = gemini_tools_settings::trust::folders_path(Some(home));
        let Some(folders) = folders.map_err(|e| InitError::new(root, e))? else {
            return Ok(());
        };
        let before = self.read(&folders)?;
        let Some(root) = root.to_str() else {
            return Err(InitError::new(
                root,
                "its name is not UTF-8, which the list of trusted folders can't hold",
            ));
        };
        let set = Set::new(&[root], Some("TRUST_FOLDER".to_owned()));
        let edit = Some(Edit::Key(root.to_owned()));
        self.set(Purpose::Trust, &folders, before, &[set], edit)
    }

    /// Puts values into a file of JSON.
    fn set(
        &mut self,
        purpose: Purpose,
        path: &Path,
        before: Option<String>,
        sets: &[Set],
        edit: Option<Edit>,
    ) -> Result<(), InitError> {
        let fail = |e: String| InitError::new(path, e);
        let text = before.clone().unwrap_or_default();
        json::check_strict(&text).map_err(fail)?;
        if let Some(after) = json::set(&text, sets).map_err(fail)? {
            json::check_strict(&after).map_err(fail)?;
            self.change(purpose, path.to_owned(), before, Some(after), edit)?;
        }
        Ok(())
    }

    /// Adds a file, or brings up to date one that was added before.
    fn add(&mut self, purpose: Purpose, path: PathBuf, text: &str) -> Result<(), InitError> {
        match self.read(&path)? {
            Some(there) if there == text => {}
            Some(there) if !self.record.wrote(&path, &there) => self.notes.push(format!(
                "{} is left as it is: it was there already, or was edited.",
                show_path(&path)
            )),
            before => {
                self.change(purpose, path, before, Some(text.to_owned()), None)?;
            }
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
        self.changes.push(Change {
            path,
            real,
            before,
            after,
            purpose,
            edit,
        });
        Ok(())
    }

    /// Leaves out the changes that the user does not want: those for which `is_wanted` has false,
    /// in the order of [`SetupPlan::changes`]. What was not taken back can be later.
    pub fn choose(&mut self, is_wanted: &[bool]) {
        let mut wanted = is_wanted.iter().copied();
        let (kept, declined) = std::mem::take(&mut self.changes)
            .into_iter()
            .partition(|_| wanted.next().unwrap_or(true));
        self.changes = kept;
        let declined: Vec<Change> = declined;
        self.declined
            .extend(declined.into_iter().map(|change| change.path));
    }

    /// Plans the way back of a file.
    fn restore(&mut self, file: &WrittenFile) -> Result<(), InitError> {
        let path = &file.path;
        let Some(now) = self.read(path)? else {
            return Ok(());
        };
        let backup = match &file.backup {
            Some(backup) => self.read(backup)?,
            None => None,
        };
        let after = match &file.edit {
            Some(edit) => match without(&now, edit).map_err(|e| InitError::new(path, e))? {
                Some(after) => Some(after).filter(|after| !(file.is_new && is_empty(after))),
                None => return Ok(()),
            },
            // The change was not made, or was taken back by hand.
            None if backup.as_deref() == Some(&*now) => return Ok(()),
            None if file.is_as_written(&now) && (file.is_new || backup.is_some()) => backup,
            None => {
                self.note_edited(file, &now, backup.as_deref());
                return Ok(());
            }
        };
        self.change(
            Purpose::Undo,
            path.clone(),
            Some(now),
            after,
            file.edit.clone(),
        )
    }

    /// Notes that a file stays as it is, with the difference to what was there before.
    fn note_edited(&mut self, file: &WrittenFile, now: &str, before: Option<&str>) {
        let path = show_path(&file.path);
        let note = match (&file.backup, before) {
            (Some(backup), Some(before)) => format!(
                "{path} stays: it was edited since. What was there before is in {}; the difference:\n{}",
                show_path(backup),
                diff_texts(now, before, &path).0.trim_end()
            ),
            _ => format!("{path} stays: it was edited since."),
        };
        self.notes.push(note);
        self.declined.push(file.path.clone());
    }

    /// Makes the changes: each file whole or not at all, and none that is not as it was when
    /// this was planned. First of all the record is written, so that each state on the way can be
    /// undone.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that has changed meanwhile, or can't be written.
    pub fn apply(&self, _: &Lock) -> Result<(), InitError> {
        for change in &self.changes {
            change.check(self.whose(&change.path))?;
        }
        if !self.is_undo && !self.changes.is_empty() {
            self.record_changes()?;
        }
        for change in &self.changes {
            change.make(self.whose(&change.path))?;
        }
        if self.is_undo {
            self.forget()?;
        }
        Ok(())
    }

    /// Writes the record, and the copies of what is there.
    fn record_changes(&self) -> Result<(), InitError> {
        let mut record = self.record.clone();
        let mut backups = Vec::new();
        for change in &self.changes {
            let backup = record.add(change, &change::missing(&change.path));
            backups.extend(backup.map(|backup| (change, backup)));
            if change.purpose == Purpose::Commands {
                record.commands.clone_from(&self.commands);
            }
        }
        for (change, backup) in &backups {
            let is_ours = self
                .record
                .file(&change.path)
                .is_some_and(|file| file.backup.is_some());
            if !is_ours && std::fs::symlink_metadata(backup).is_ok() {
                let reason = "the copy of the settings belongs here; move it away";
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

    /// Removes the copies and the record of what was taken back, with the directories that were made.
    fn forget(&self) -> Result<(), InitError> {
        let mut left = self.record.clone();
        let is_left = |file: &WrittenFile| self.declined.contains(&file.path);
        for file in left.files.iter().filter(|file| !is_left(file)) {
            if let Some(backup) = &file.backup {
                record::remove(backup)?;
            }
        }
        left.files.retain(is_left);
        if left.files.is_empty() {
            record::remove(&self.record_path)?;
        } else {
            left.save(&self.record_path)?;
        }
        let own = self.record_path.parent();
        for directory in own
            .into_iter()
            .chain(left.made.iter().rev().map(PathBuf::as_path))
        {
            // Where something else is in it, it stays.
            let _ = std::fs::remove_dir(directory);
        }
        Ok(())
    }
}

/// Takes a piece out of a text; `None` where it is not there.
fn without(text: &str, edit: &Edit) -> Result<Option<String>, String> {
    match edit {
        Edit::Line(line) => Ok(env_line::without(text, line)),
        Edit::Key(key) => json::set(text, &[Set::new(&[key], None)]),
    }
}

/// Returns true for a text of which nothing is left: no line, or an object without keys.
fn is_empty(text: &str) -> bool {
    text.split_whitespace()
        .collect::<String>()
        .trim_matches(['{', '}'])
        .is_empty()
}

/// Returns the two commands that are put in.
fn own_commands(directory: Option<&Path>) -> Result<Pair, InitError> {
    if let Some(directory) = directory.filter(|path| path.to_string_lossy().contains('$')) {
        return Err(InitError::new(
            directory,
            "Gemini CLI would take the $ in this name for a variable; install the executables in another directory",
        ));
    }
    // The host takes the whole of the call command for a path, so nothing is quoted.
    Ok((
        command(directory, "get_tools"),
        command(directory, "call_tool"),
    ))
}

/// Returns the program of a discovery command, with the values of variables.
fn first_word(command: &str) -> String {
    split_program(&expanded(command)).map_or_else(String::new, |(word, _)| word)
}

fn is_own_discovery(command: &str, root: &Path) -> bool {
    is_this_installation(&first_word(command), root)
}

/// Returns true if a program is ours and is found, so that it need not be replaced.
fn works(program: &str, root: &Path) -> bool {
    let is_bare = Path::new(program).parent() == Some(Path::new(""));
    is_this_installation(program, root) && (!is_bare || find_program(OsStr::new(program)).is_some())
}

fn command(directory: Option<&Path>, name: &str) -> String {
    directory.map_or_else(
        || name.to_owned(),
        |directory| show_path(&directory.join(name)).into_owned(),
    )
}
