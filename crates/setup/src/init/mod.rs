//! `get_tools init`: puts the two commands into Gemini CLI's settings, with all that they need to
//! be used at once, and takes all of that back.
//!
//! What is to be written is a list of changes, made before anything is touched, so that a person
//! can look at it. What was there before is kept in a record beside the user's settings; with it
//! [`undo`] makes the way back, also where files have been edited since.

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
use files::{CALL, DISCOVERY, Named, Pair, pair_file, parted, policy, quoted};
use gemini_tools_config::env_file;
use gemini_tools_config::settings::expanded;
use gemini_tools_config::trust::Trust;
use gemini_tools_core::text::show_path;
use gemini_tools_core::tool::Kind;
use gemini_tools_custom_tools::own_program::is_this_installation;
use gemini_tools_process::command::find_program;
use gemini_tools_workspace::file_owner::FileOwner;
use json::Set;
use record::{ChangedFile, Record};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Maximum pairs kept.
const MAX_PAIRS: usize = 100;

/// Where the commands are to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupScope {
    /// In the project of the current directory.
    Project,
    /// In all of the user's projects.
    User,
}

/// Which tools Gemini CLI may call without asking the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allow {
    /// The tools that only read what is in the project.
    ReadOnly,
    /// All.
    All,
    /// None: no rules are written.
    Nothing,
}

/// What is wanted.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    /// The user's home directory.
    pub home: &'a Path,
    /// The project's directory, an absolute path.
    pub root: &'a Path,
    /// Where the commands are to count.
    pub scope: SetupScope,
    /// Which tools need no consent.
    pub allow: Allow,
    /// The directory of the two executables; `None` where they are found by their names.
    pub directory: Option<&'a Path>,
    /// The tools that every project has, by name, with what they do to the world: rules count in
    /// all projects, so one for a project's own tool would allow another project's tool of its name.
    pub tools: &'a [(String, Kind)],
    /// Whether Gemini CLI's list of trusted folders is to name the project.
    pub trusts_folder: bool,
    /// Whether Gemini CLI is to get answers in the form for hosts.
    pub host_form: bool,
}

/// What is to be changed, in this order.
#[derive(Debug, Default)]
pub struct SetupPlan {
    /// The files.
    pub changes: Vec<Change>,
    /// What a person should know besides.
    pub notes: Vec<String>,
    /// What is known of earlier runs.
    record: Record,
    record_path: PathBuf,
    /// Changes that the user does not want, by their paths.
    declined: Vec<PathBuf>,
    /// The project whose files are changed; `None` where they are the user's.
    project: Option<Project>,
    is_undo: bool,
}

/// Plans what [`Wanted`] asks for. Nothing is changed yet, and where all is in place already
/// there is nothing to change.
///
/// # Errors
///
/// A file that can't be read, or that is not what it should be.
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

/// Plans the way back from what [`plan`] has done here. What was edited since stays, but for what
/// was put in.
///
/// # Errors
///
/// Where nothing was done here, or a file can't be read.
pub fn undo(home: &Path, root: &Path, scope: SetupScope) -> Result<SetupPlan, InitError> {
    let record_path = record::path(home, (scope == SetupScope::Project).then_some(root));
    let record = Record::load(&record_path)?;
    let mut plan = SetupPlan {
        record_path,
        project: project(scope, home, root)?,
        is_undo: true,
        ..SetupPlan::default()
    };
    for kept in &record.files {
        plan.restore(kept)?;
    }
    plan.record = record;
    Ok(plan)
}

fn project(scope: SetupScope, home: &Path, root: &Path) -> Result<Option<Project>, InitError> {
    let project = (scope == SetupScope::Project).then(|| Project::new(root, home));
    project.transpose()
}

impl SetupPlan {
    /// Where a file leads that is to be changed.
    fn real(&self, path: &Path) -> Result<PathBuf, InitError> {
        match &self.project {
            Some(project) => project.real(path),
            None => change::real(path),
        }
    }

    /// The text of a file that is to be changed; `None` where there is no such file.
    fn read(&self, path: &Path) -> Result<Option<String>, InitError> {
        self.real(path)
            .map_err(|e| change::dangling(path).unwrap_or(e))?;
        change::read(path, self.whose(path))
    }

    fn whose(&self, path: &Path) -> FileOwner<'_> {
        let project = self.project.as_ref();
        project.map_or(FileOwner::Users, |project| project.whose(path))
    }

    /// Whether there was anything to undo.
    pub fn knows_nothing(&self) -> bool {
        self.record.files.is_empty()
    }

    /// Puts the two commands into the settings. Gives the pairs of other programs that were
    /// there.
    fn set_commands(
        &mut self,
        wanted: &Wanted<'_>,
        settings: &Path,
    ) -> Result<Vec<Pair>, InitError> {
        let (discovery, call) = own_commands(wanted.directory)?;
        let before = self.read(settings)?;
        let named = Named::of(before.as_deref().unwrap_or_default());
        let put = |at: &[&str]| self.record.put(settings, at);
        let program = |command: &str| Some(parted(command)?.0);
        // What an earlier run has put there from another place is ours too.
        let was_put = |command: &str| {
            let put = put(&DISCOVERY).and_then(program);
            put.is_some() && put == program(command)
        };
        let is_own = |command: &str| was_put(command) || is_own_discovery(command, wanted.root);
        let is_own_call = |call: &str| {
            put(&CALL) == Some(call) || is_this_installation(&expanded(call), wanted.root)
        };
        let new_discovery = match named.discovery() {
            Some(there) if works(&first_word(there), wanted.root) => there.to_owned(),
            Some(there) if is_own(there) => {
                let rest = parted(there).map_or("", |(_, rest)| rest);
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
            Set::new(&DISCOVERY, new_discovery),
            Set::new(&CALL, new_call),
        ];
        // Gemini CLI 0.8.2 would put what they say in the place of ours.
        sets.extend(named.old_keys.iter().map(|key| Set::remove(&[key])));
        self.set(Purpose::Commands, settings, before, &sets)?;
        self.notes.extend(gone);
        Ok(pairs)
    }

    /// Says that commands of the user's own settings count no longer in the project.
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
        let pairs = Named::of(&text).pairs();
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
            return self.change(Purpose::EarlierPair, path, None, after, Vec::new());
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
        let kept = self.record.of(&path);
        match kept.filter(|kept| kept.is_as_written(&there)) {
            Some(kept) => {
                let before = kept.before.clone();
                self.change(Purpose::Undo, path, Some(there), before, Vec::new())?;
            }
            None => self.notes.push(format!(
                "{} still allows what it says: it was not written here, or was edited since. Remove it yourself.",
                show_path(&path)
            )),
        }
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
        let nearer = env_file::in_force(Some(home), root).filter(|file| *file != path);
        if let Some(nearer) = nearer.filter(|file| *file != home.join(".env")) {
            self.notes.push(format!(
                "In this project Gemini CLI reads {} and not {shown}: {} has no effect here, unless that file has it too.",
                show_path(&nearer),
                env_line::HOST_FORM
            ));
        }
        let line = env_line::appended(&text, env_line::HOST_FORM);
        let after = Some(text + &line);
        self.change(Purpose::HostForm, path, before, after, Vec::new())?;
        self.appends(line);
        Ok(())
    }

    /// Says of the last change that it is about a line of a file that is not shown.
    fn appends(&mut self, line: String) {
        if let Some(change) = self.changes.last_mut() {
            change.appended = Some(line);
        }
    }

    /// Adds the project to Gemini CLI's trusted folders.
    fn trust(&mut self, home: &Path, root: &Path) -> Result<(), InitError> {
        let folders = gemini_tools_config::trust::folders_path(Some(home));
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
        let set = Set::new(&[root], "TRUST_FOLDER".into());
        self.set(Purpose::Trust, &folders, before, &[set])
    }

    /// Puts values into a file of JSON.
    fn set(
        &mut self,
        purpose: Purpose,
        path: &Path,
        before: Option<String>,
        sets: &[Set],
    ) -> Result<(), InitError> {
        let fail = |e: String| InitError::new(path, e);
        let text = before.clone().unwrap_or_default();
        json::check_strict(&text).map_err(fail)?;
        let (after, old) = json::set(&text, sets).map_err(fail)?;
        if let Some(after) = after {
            json::check_strict(&after).map_err(fail)?;
            let keys = sets.iter().cloned().zip(old).collect();
            self.change(purpose, path.to_owned(), before, Some(after), keys)?;
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
                self.change(purpose, path, before, Some(text.to_owned()), Vec::new())?;
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
        keys: Vec<(Set, Option<Value>)>,
    ) -> Result<(), InitError> {
        let real = self.real(&path)?;
        self.changes.push(Change {
            path,
            real,
            before,
            after,
            purpose,
            keys,
            appended: None,
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

    /// Plans the way back of one file.
    fn restore(&mut self, kept: &ChangedFile) -> Result<(), InitError> {
        let path = Path::new(&kept.path);
        let Some(now) = self.read(path)? else {
            return Ok(());
        };
        if let Some(line) = &kept.appended {
            let Some(text) = env_line::without(&now, line) else {
                return Ok(());
            };
            let was_there = kept.before.is_some() || !text.is_empty();
            let (now, after) = (Some(now), was_there.then_some(text));
            self.change(Purpose::Undo, path.to_owned(), now, after, Vec::new())?;
            self.appends(line.clone());
            return Ok(());
        }
        if kept.is_as_written(&now) {
            if kept.before.as_deref() != Some(&*now) {
                let before = kept.before.clone();
                self.change(
                    Purpose::Undo,
                    path.to_owned(),
                    Some(now),
                    before,
                    Vec::new(),
                )?;
            }
            return Ok(());
        }
        if kept.keys.is_empty() {
            self.notes
                .push(format!("{} stays: it was edited since.", show_path(path)));
            return Ok(());
        }
        let after = json::take_back(&now, &kept.keys).map_err(|e| InitError::new(path, &e))?;
        if let Some(after) = after {
            let (now, after) = (Some(now), Some(after));
            self.change(Purpose::Undo, path.to_owned(), now, after, Vec::new())?;
        }
        Ok(())
    }

    /// Makes the changes: each file whole or not at all, and none that is not as it was when
    /// this was planned, which is why no other process may change them meanwhile. First of all the
    /// record is written, so that each state on the way can be undone.
    ///
    /// # Errors
    ///
    /// A file that has changed meanwhile, or what the system says.
    pub fn apply(&self, lock: &mut Lock) -> Result<(), InitError> {
        for change in &self.changes {
            change.check(self.whose(&change.path))?;
        }
        if !self.is_undo && !self.changes.is_empty() {
            let mut record = self.record.clone();
            for change in &self.changes {
                record.keep(change, &change::missing(&change.path));
            }
            record.add_made(&lock.made);
            record.save(&self.record_path)?;
        }
        for change in &self.changes {
            change.make(self.whose(&change.path))?;
        }
        if self.is_undo {
            let mut left = self.record.clone();
            left.files.retain(|kept| self.declined.contains(&kept.path));
            if left.files.is_empty() {
                record::remove(&self.record_path)?;
            } else {
                left.save(&self.record_path)?;
            }
            lock.emptied.clone_from(&self.record.made);
        }
        Ok(())
    }
}

/// The two commands that are put in.
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

/// The program of a discovery command, with the values of variables.
fn first_word(command: &str) -> String {
    parted(&expanded(command)).map_or_else(String::new, |(word, _)| word)
}

fn is_own_discovery(command: &str, root: &Path) -> bool {
    is_this_installation(&first_word(command), root)
}

/// Whether a program is ours and is found, so that it need not be replaced.
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
