//! `get_tools init`: puts the two commands into Gemini CLI's settings, with all that they need to
//! be used at once, and takes all of that back.
//!
//! What is to be written is a list of changes, made before anything is touched, so that a person
//! can look at it. What was there before is kept in a record beside the user's settings; with it
//! [`undo`] makes the way back, also where files have been edited since.

mod change;
mod files;
mod json;
mod record;

pub use change::{Change, InitError};

use crate::tool::Kind;
use files::{commands_in, earlier_pair, example, policy, quoted};
use json::Set;
use record::{Kept, Record};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Where the commands are to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// In the project of the current directory.
    Project,
    /// In all of the user's projects.
    User,
}

/// Which tools Gemini CLI may call without anybody being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allow {
    /// Those that only read what is in the project.
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
    pub reach: Reach,
    /// Which tools need nobody's consent.
    pub allow: Allow,
    /// The directory of the two executables; `None` where they are found by their names.
    pub directory: Option<&'a Path>,
    /// All tools by name, with what they do to the world.
    pub tools: &'a [(String, Kind)],
    /// Whether Gemini CLI's list of trusted folders is to name the project.
    pub trusts_folder: bool,
}

/// What is to be changed, in this order.
#[derive(Debug, Default)]
pub struct Plan {
    /// The files.
    pub changes: Vec<Change>,
    /// What a person should know besides.
    pub notes: Vec<String>,
    record: Record,
    record_path: PathBuf,
    is_undo: bool,
}

/// Plans what [`Wanted`] asks for. Nothing is changed yet, and where all is in place already
/// there is nothing to change.
///
/// # Errors
///
/// A file that can't be read, or that is not what it should be.
pub fn plan(wanted: &Wanted<'_>) -> Result<Plan, InitError> {
    let Wanted {
        home, root, reach, ..
    } = *wanted;
    let record_path = record::path(home, (reach == Reach::Project).then_some(root));
    let mut plan = Plan {
        record: Record::load(&record_path)?,
        record_path,
        ..Plan::default()
    };
    let base = match reach {
        Reach::Project => root,
        Reach::User => home,
    };
    let gemini = base.join(".gemini");
    let discovery = command(wanted.directory, "get_tools");
    // The host takes the whole of it for a path, so nothing is quoted.
    let call = command(wanted.directory, "call_tool");
    let settings = gemini.join("settings.json");
    let before = change::read(&settings)?;
    let earlier = commands_in(before.as_deref().unwrap_or_default());
    plan.set(
        &settings,
        before,
        &[
            Set::new(&["tools", "discoveryCommand"], quoted(&discovery)),
            Set::new(&["tools", "callCommand"], call),
        ],
    )?;
    let tools = gemini.join("tools");
    let mut names = wanted.tools.to_vec();
    if let Some(pair) = earlier.and_then(earlier_pair) {
        let path = tools.join("earlier_pair.toml");
        plan.add(path.clone(), &pair)?;
        plan.notes.push(format!(
            "The tools of the commands that stood there before are still there, by {}.",
            crate::shown::show_path(&path)
        ));
    } else if !tools.exists() || plan.record.holds(&tools.join(files::EXAMPLE)) {
        plan.add(tools.join(files::EXAMPLE), example())?;
        let name = files::EXAMPLE.trim_end_matches(".toml").to_owned();
        if !names.iter().any(|(known, _)| *known == name) {
            names.push((name, Kind::Read));
            names.sort_by(|a, b| a.0.cmp(&b.0));
        }
    }
    if wanted.allow != Allow::Nothing {
        let file = match reach {
            Reach::User => "gemini-tools.toml".to_owned(),
            Reach::Project => format!("gemini-tools-{}.toml", record::name(root)),
        };
        let text = policy(&names, wanted.allow);
        plan.add(home.join(".gemini/policies").join(file), &text)?;
    }
    if wanted.trusts_folder {
        let folders = home.join(".gemini/trustedFolders.json");
        let before = change::read(&folders)?;
        let Some(root) = root.to_str() else {
            return Err(InitError::new(
                root,
                "its name is no UTF-8, which the list of trusted folders can't hold",
            ));
        };
        plan.set(
            &folders,
            before,
            &[Set::new(&[root], "TRUST_FOLDER".into())],
        )?;
    }
    Ok(plan)
}

/// Plans the way back from what [`plan`] has done here. What was edited since stays, but for what
/// was put in.
///
/// # Errors
///
/// Where nothing was done here, or a file can't be read.
pub fn undo(home: &Path, root: &Path, reach: Reach) -> Result<Plan, InitError> {
    let record_path = record::path(home, (reach == Reach::Project).then_some(root));
    let record = Record::load(&record_path)?;
    let mut plan = Plan {
        record_path,
        is_undo: true,
        ..Plan::default()
    };
    for kept in &record.files {
        plan.restore(kept)?;
    }
    plan.record = record;
    Ok(plan)
}

impl Plan {
    /// Whether there was anything to undo.
    pub fn knows_nothing(&self) -> bool {
        self.record.files.is_empty()
    }

    /// Puts values into a file of JSON.
    fn set(&mut self, path: &Path, before: Option<String>, sets: &[Set]) -> Result<(), InitError> {
        let text = before.clone().unwrap_or_default();
        let (after, old) = json::set(&text, sets).map_err(|e| InitError::new(path, &e))?;
        if let Some(after) = after {
            let keys = sets.iter().cloned().zip(old).collect();
            self.change(path.to_owned(), before, Some(after), keys);
        }
        Ok(())
    }

    /// Adds a file, or brings up to date one that was added before.
    fn add(&mut self, path: PathBuf, text: &str) -> Result<(), InitError> {
        match change::read(&path)? {
            Some(there) if there == text => {}
            Some(there) if !self.record.wrote(&path, &there) => self.notes.push(format!(
                "{} is left as it is: it was there already, or was edited.",
                crate::shown::show_path(&path)
            )),
            before => self.change(path, before, Some(text.to_owned()), Vec::new()),
        }
        Ok(())
    }

    fn change(
        &mut self,
        path: PathBuf,
        before: Option<String>,
        after: Option<String>,
        keys: Vec<(Set, Option<Value>)>,
    ) {
        if !self.is_undo
            && let Some(after) = &after
        {
            self.record.keep(
                &path,
                before.as_deref(),
                after,
                keys,
                &change::missing(&path),
            );
        }
        self.changes.push(Change {
            path,
            before,
            after,
        });
    }

    /// Plans the way back of one file.
    fn restore(&mut self, kept: &Kept) -> Result<(), InitError> {
        let path = Path::new(&kept.path);
        let Some(now) = change::read(path)? else {
            return Ok(());
        };
        if kept.is_as_written(&now) {
            if kept.before.as_deref() != Some(&*now) {
                self.change(path.to_owned(), Some(now), kept.before.clone(), Vec::new());
            }
            return Ok(());
        }
        if kept.keys.is_empty() {
            self.notes.push(format!(
                "{} stays: it was edited since.",
                crate::shown::show_path(path)
            ));
            return Ok(());
        }
        let after = json::take_back(&now, &kept.keys).map_err(|e| InitError::new(path, &e))?;
        if let Some(after) = after {
            self.change(path.to_owned(), Some(now), Some(after), Vec::new());
        }
        Ok(())
    }

    /// Makes the changes: each file whole or not at all, and none that is not as it was when
    /// this was planned. First of all the record is written, so that each state on the way can
    /// be undone.
    ///
    /// # Errors
    ///
    /// A file that has changed meanwhile, or what the system says.
    pub fn apply(&self) -> Result<(), InitError> {
        for change in &self.changes {
            change.check()?;
        }
        if !self.is_undo && !self.changes.is_empty() {
            self.record.save(&self.record_path)?;
        }
        for change in &self.changes {
            change.make()?;
        }
        if self.is_undo {
            for directory in self.record.made.iter().rev() {
                // Where something else is in it by now, it stays.
                let _ = std::fs::remove_dir(directory);
            }
            record::remove(&self.record_path)?;
        }
        Ok(())
    }
}

fn command(directory: Option<&Path>, name: &str) -> String {
    directory.map_or_else(
        || name.to_owned(),
        |directory| crate::shown::show_path(&directory.join(name)).into_owned(),
    )
}
