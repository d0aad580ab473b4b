use super::{ChangeSet, ChangedFile, NewContent};
use crate::Workspace;
use crate::journal::{Caller, ChangeOrigin, IntentRecord, Journal, Limits, StepRecord};
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

fn prepared(workspace: &Workspace) -> ChangeSet<'_> {
    for name in ["a", "b"] {
        fs::write(workspace.root().join(name), "old").expect("written");
    }
    prepared_for(workspace, &[("a", Some("new")), ("b", Some("new"))])
}

fn prepared_for<'w>(workspace: &'w Workspace, all: &[(&str, Option<&str>)]) -> ChangeSet<'w> {
    let change = |(name, new): &(&str, Option<&str>)| {
        let place = workspace.locate(name).expect("a place");
        let target = workspace.target(&place, &Cancellation::default());
        ChangedFile {
            target: target.expect("a target"),
            place,
            new: new.map(|new| NewContent {
                bytes: new.as_bytes().to_vec(),
                access_of: None,
                is_executable: None,
            }),
        }
    };
    let files: Vec<_> = all.iter().map(change).collect();
    let step = |file: &ChangedFile| {
        let missing = file.target.entry.missing.len();
        StepRecord::new(file.place.path(), missing, temporary_name(CHANGE_PREFIX))
    };
    let record = IntentRecord {
        is_prepared: false,
        is_made: false,
        is_recorded: true,
        conversation: None,
        steps: files.iter().map(step).collect(),
        undo: None,
    };
    let mut set = ChangeSet::begin(workspace, record).expect("an intent");
    let origin = ChangeOrigin::default();
    let prepared = set.prepare(&files, &origin, "both", &Cancellation::default());
    assert_eq!(prepared.expect("prepared"), None);
    set.record.is_prepared = true;
    set.intent.write(&set.record).expect("written");
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

/// A file of a random change: its name, its contents before and after, and whether a person has
/// changed it or moved its directory after the kill.
struct Part {
    name: String,
    old: Option<String>,
    new: Option<String>,
    is_touched: bool,
    persons: Option<String>,
}

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn random_parts(random: &mut Numbers, root: &Path) -> Vec<Part> {
    let count = 2 + random.below(4);
    let part = |n: u64| {
        let dir = ["", "d/", "d/deep/"][usize::try_from(random.below(3)).expect("small")];
        let name = format!("{dir}f{n}");
        let sort = random.below(3);
        let old = (sort > 0).then(|| format!("old {n}."));
        if let Some(old) = &old {
            fs::create_dir_all(root.join(dir)).expect("made");
            fs::write(root.join(&name), old).expect("written");
        }
        Part {
            name,
            old,
            new: (sort < 2).then(|| format!("new {n}.")),
            is_touched: false,
            persons: None,
        }
    };
    (0..count).map(part).collect()
}

/// Makes a part of a change, as if the process was killed then.
fn carried_out_up_to(mut set: ChangeSet<'_>, moment: usize) {
    let steps = set.record.steps.clone();
    for step in steps.iter().take(moment) {
        set.forward(step).expect("a step");
    }
    if moment > steps.len() {
        set.note_made().expect("noted");
        let (entries, _) = set.entries();
        let journal = set.workspace.journal.get().map(|journal| &**journal);
        assert_eq!(set.intent.record(&entries, journal), None);
        let removed = steps.iter().filter(|step| step.entry.before.is_some());
        for step in removed.take(moment - steps.len() - 1) {
            assert!(set.put_away(step, true));
        }
    }
}

fn persons_change(random: &mut Numbers, root: &Path, parts: &mut [Part]) -> String {
    if random.below(4) == 0 && root.join("d").exists() {
        fs::rename(root.join("d"), root.join("e")).expect("moved");
        let below = parts.iter_mut().filter(|part| part.name.starts_with("d/"));
        below.for_each(|part| part.is_touched = true);
        return "d is moved".to_owned();
    }
    let count = u64::try_from(parts.len()).expect("few");
    let part = &mut parts[usize::try_from(random.below(count)).expect("small")];
    let path = root.join(&part.name);
    let Ok(found) = fs::read_to_string(&path) else {
        return "nothing".to_owned();
    };
    part.is_touched = true;
    if random.below(3) == 0 {
        fs::remove_file(&path).expect("removed");
        // The person has seen this content.
        part.old = part.old.take().filter(|old| *old != found);
        return format!("{} is removed", part.name);
    }
    let text = format!("{found} PERSON");
    fs::write(&path, &text).expect("written");
    part.persons = Some(text);
    format!("{} is written", part.name)
}

#[test]
fn a_kill_at_any_step_and_a_persons_change_after_it_lose_no_content() {
    for seed in 0..60 {
        let mut random = Numbers(seed);
        let dir = tempfile::tempdir().expect("a directory");
        let top = dir.path().canonicalize().expect("exists");
        let first = workspace(&top, true);
        let root = first.root().to_owned();
        let mut parts = random_parts(&mut random, &root);
        let changes: Vec<_> = parts
            .iter()
            .map(|part| (part.name.as_str(), part.new.as_deref()))
            .collect();
        let set = prepared_for(&first, &changes);
        let moments = 2 * u64::try_from(changes.len()).expect("few") + 2;
        let moment = usize::try_from(random.below(moments)).expect("small");
        carried_out_up_to(set, moment);
        let what = persons_change(&mut random, &root, &mut parts);
        let note = finished(&workspace(&top, true));
        let of = format!("seed {seed}, {moment} steps, {what}: {note}");
        let now = |part: &Part| fs::read_to_string(root.join(&part.name)).ok();
        let is_new = note.contains("has been completed");
        for part in &parts {
            if part.is_touched {
                let kept = part
                    .persons
                    .as_ref()
                    .is_none_or(|text| now(part).as_ref() == Some(text));
                assert!(kept, "{} {:?}: {of}", part.name, now(part));
            } else {
                let wanted = if is_new { &part.new } else { &part.old };
                assert_eq!(now(part), *wanted, "{}: {of}", part.name);
            }
            let Some(old) = &part.old else { continue };
            let holds = |path: &Path| fs::read_to_string(path).is_ok_and(|text| text.contains(old));
            let place = below(&top, holds).unwrap_or_else(|| panic!("{old} is lost: {of}"));
            let name = place
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            let is_listed = || {
                let log = fs::read_to_string(place.with_file_name("log"));
                log.is_ok_and(|log| log.contains(&name))
            };
            let is_own = part.name.ends_with(&name);
            assert!(
                is_own || note.contains(&name) || is_listed(),
                "{place:?}: {of}"
            );
        }
    }
}
