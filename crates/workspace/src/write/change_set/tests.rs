use super::{ChangeSet, ChangedFile, NewContent};
use crate::Workspace;
use crate::journal::{Caller, ChangeOrigin, Intent, IntentRecord, Journal, Limits, StepRecord};
use crate::new_file::{CHANGE_PREFIX, remove_litter, temporary_name};
use gemini_tools_core::tool::Cancellation;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

fn workspace(top: &Path, has_journal: bool) -> Workspace {
    let (root, home) = (top.join("project"), top.join("home"));
    fs::create_dir_all(&root).expect("made");
    fs::create_dir_all(&home).expect("made");
    let workspace = Workspace::open_at(&root, &[], Some(&home)).expect("a workspace");
    if has_journal {
        let caller = || Caller {
            program: "test".to_owned(),
            session: "test".to_owned(),
        };
        let journal = Journal::new(Some(home), Limits::default(), &[], caller);
        workspace.set_journal(Arc::new(journal));
    }
    workspace
}

/// Prepares a change of the files `a` and `b`, which have the content `old`, to `new`.
fn prepared(workspace: &Workspace) -> ChangeSet<'_> {
    let change = |name: &str| {
        fs::write(workspace.root().join(name), "old").expect("written");
        let place = workspace.locate(name).expect("a place");
        let target = workspace.target(&place, &Cancellation::default());
        ChangedFile {
            target: target.expect("a target"),
            place,
            new: Some(NewContent {
                bytes: b"new".to_vec(),
                access_of: None,
                is_executable: None,
            }),
        }
    };
    let files = ["a", "b"].map(change);
    let step =
        |file: &ChangedFile| StepRecord::new(file.place.path(), 0, temporary_name(CHANGE_PREFIX));
    let mut set = ChangeSet {
        workspace,
        intent: Intent::create(workspace.home().expect("a home")).expect("an intent"),
        record: IntentRecord {
            is_prepared: false,
            is_recorded: true,
            steps: files.iter().map(step).collect(),
            undo: None,
        },
    };
    let origin = ChangeOrigin::default();
    let prepared = set.prepare(&files, &origin, "both", &Cancellation::default());
    assert_eq!(prepared.expect("prepared"), None);
    set
}

/// Completes the one change that is left behind, and returns what is said of it. A process that
/// another test is just starting may hold the lock of the intent a little longer than this one.
fn finished(workspace: &Workspace) -> String {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let mut notes = workspace.finish_interrupted();
        match notes.pop() {
            Some(note) => return note,
            None => assert!(Instant::now() < deadline, "the change is not completed"),
        }
        std::thread::yield_now();
    }
}

fn contents(dir: &Path) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(dir).expect("a directory");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut all: Vec<_> = paths
        .map(|path| (path.clone(), fs::read_to_string(path).expect("text")))
        .collect();
    all.sort();
    all
}

#[test]
fn an_old_file_that_cannot_be_put_back_stays_and_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let top = dir.path().canonicalize().expect("exists");
    let workspace = workspace(&top, true);
    let mut set = prepared(&workspace);
    let made = set.record.steps[0].clone();
    set.forward(&made).expect("the first step");
    for name in ["a", "b"] {
        fs::write(top.join("other"), "another program's").expect("written");
        fs::rename(top.join("other"), workspace.root().join(name)).expect("put there");
    }
    let (path, why) = set.complete().expect_err("changed since");
    let error = set.take_back(&path, &why);
    let later = SystemTime::now() + Duration::from_secs(24 * 60 * 60);
    remove_litter(File::open(workspace.root()).expect("open"), later);
    let found = contents(workspace.root());
    assert!(error.message.contains(&made.temporary), "{error}");
    assert!(!error.message.contains("b stays"), "{error}");
    let expected = [
        (made.temporary_path(), "old".to_owned()),
        (workspace.root().join("a"), "another program's".to_owned()),
        (workspace.root().join("b"), "another program's".to_owned()),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_change_completed_after_undo_was_turned_off_leaves_nothing_in_the_journal_and_says_so() {
    let dir = tempfile::tempdir().expect("a directory");
    let top = dir.path().canonicalize().expect("exists");
    let first = workspace(&top, true);
    let set = prepared(&first);
    let ids: Vec<String> = set
        .record
        .steps
        .iter()
        .map(|s| s.entry.id.clone())
        .collect();
    drop(set);
    let second = workspace(&top, false);
    let note = finished(&second);
    assert!(
        note.contains("can't be undone: undo has been turned off"),
        "{note}"
    );
    let names = contents(second.root()).into_iter().map(|(_, text)| text);
    assert_eq!(names.collect::<Vec<_>>(), ["new", "new"]);
    let is_old = |path: &Path| ids.iter().any(|id| path.ends_with(id));
    assert_eq!(below(&top.join("home"), is_old), None);
}

fn below(top: &Path, wanted: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let mut waiting = vec![top.to_owned()];
    while let Some(path) = waiting.pop() {
        if wanted(&path) {
            return Some(path);
        }
        let below = fs::read_dir(path).into_iter().flatten().flatten();
        waiting.extend(below.map(|entry| entry.path()));
    }
    None
}

#[test]
fn log_lines_that_a_kill_has_cut_anywhere_are_written_whole_by_the_next_call() {
    for cut in (0..1_000).step_by(37) {
        let dir = tempfile::tempdir().expect("a directory");
        let top = dir.path().canonicalize().expect("exists");
        let first = workspace(&top, true);
        let set = prepared(&first);
        let mut entries = Vec::new();
        for step in &set.record.steps {
            set.forward(step).expect("a step");
            entries.push(step.entry.clone());
        }
        let journal = first.journal.get().map(|journal| &**journal);
        assert_eq!(set.intent.record(&entries, journal), None);
        let log = below(&top.join("home"), |path| path.ends_with("log")).expect("a log");
        let whole = fs::read(&log).expect("read");
        fs::write(&log, &whole[..cut.min(whole.len())]).expect("written");
        drop(set);
        let note = finished(&workspace(&top, true));
        assert!(note.contains("has been completed"), "{note}");
        let lines = fs::read_to_string(&log).expect("text");
        for entry in entries {
            let line = serde_json::to_string(&entry).expect("json");
            let count = lines.lines().filter(|found| *found == line).count();
            assert_eq!(count, 1, "{cut}: {lines}");
        }
    }
}
