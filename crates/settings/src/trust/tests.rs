use super::{Distrust, Fingerprint, ProjectTrust, Trust, TrustRecord, TrustedBy, remove, save};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

struct Place {
    _dir: tempfile::TempDir,
    home: PathBuf,
    root: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let base = dir.path().canonicalize().expect("its name");
        let (home, root) = (base.join("home"), base.join("work/project"));
        fs::create_dir_all(home.join(".gemini")).expect("made");
        fs::create_dir_all(root.join(".gemini/tools")).expect("made");
        Self {
            _dir: dir,
            home,
            root,
        }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.root.join(name), text).expect("written");
    }

    fn folders(&self, text: &str) {
        fs::write(self.home.join(".gemini/trustedFolders.json"), text).expect("written");
    }

    fn trust(&self) -> Trust {
        Trust::judge(Some(&self.home), &self.root)
    }

    fn record(&self) {
        let seen = Fingerprint::look(&self.root).expect("seen");
        save(&self.home, &self.root, seen).expect("saved");
        assert_eq!(self.trust(), Trust::Trusted(TrustedBy::Record));
    }
}

fn changed(files: &[&str]) -> Trust {
    let files = files.iter().map(|f| (*f).to_owned()).collect();
    Trust::Untrusted(Distrust::Changed(files))
}

#[test]
fn nobody_is_trusted_unasked_but_the_home_directory() {
    let place = Place::new();
    assert_eq!(place.trust(), Trust::Untrusted(Distrust::Unknown));
    assert_eq!(
        Trust::judge(None, &place.root),
        Trust::Untrusted(Distrust::Unknown)
    );
    let own = Trust::judge(Some(&place.home), &place.home);
    assert_eq!(own, Trust::Trusted(TrustedBy::Home));
    assert!(!Trust::judge(None, &place.root.join("missing")).is_trusted());
}

#[test]
fn a_record_counts_until_something_changes() {
    let place = Place::new();
    place.write(".gemini/settings.json", "{}");
    place.write(".gemini/tools/a", "one");
    place.record();
    place.write(".gemini/tools/a", "two");
    assert_eq!(place.trust(), changed(&[".gemini/tools/a"]));
    place.write(".gemini/tools/a", "one");
    assert!(place.trust().is_trusted(), "the same content again");
    place.write(".gemini/tools/b", "");
    assert_eq!(place.trust(), changed(&[".gemini/tools/b"]));
    fs::remove_file(place.root.join(".gemini/tools/b")).expect("removed");
    assert!(place.trust().is_trusted());
    let tool = place.root.join(".gemini/tools/a");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("a mode");
    assert_eq!(place.trust(), changed(&[".gemini/tools/a"]));
    place.record();
    fs::remove_file(place.root.join(".gemini/settings.json")).expect("removed");
    assert_eq!(place.trust(), changed(&[".gemini/settings.json"]));
    place.record();
    fs::create_dir(place.root.join(".gemini/policies")).expect("made");
    assert_eq!(place.trust(), changed(&[".gemini/policies"]));
    assert!(remove(&place.home, &place.root).expect("removed"));
    assert_eq!(place.trust(), Trust::Untrusted(Distrust::Unknown));
    assert!(!remove(&place.home, &place.root).expect("nothing there"));
}

#[test]
fn a_link_counts_with_its_target_and_its_content() {
    let place = Place::new();
    for name in ["one", "two"] {
        place.write(name, "the same");
    }
    let link = place.root.join(".gemini/tools/tool");
    symlink("../../one", &link).expect("a link");
    place.record();
    fs::remove_file(&link).expect("removed");
    symlink("../../two", &link).expect("a link");
    assert_eq!(place.trust(), changed(&[".gemini/tools/tool"]));
    place.record();
    place.write("two", "another");
    assert_eq!(place.trust(), changed(&[".gemini/tools/tool"]));
    fs::remove_dir_all(place.root.join(".gemini")).expect("removed");
    symlink("elsewhere", place.root.join(".gemini")).expect("a link");
    assert!(!place.trust().is_trusted());
}

#[test]
fn a_record_is_for_one_directory_and_for_the_owners_eyes() {
    let place = Place::new();
    place.record();
    let other = place.root.with_file_name("other");
    fs::create_dir(&other).expect("made");
    assert!(!Trust::judge(Some(&place.home), &other).is_trusted());
    let dir = place.home.join(".gemini/trusted_tools");
    let mode = |path: &PathBuf| fs::metadata(path).expect("there").permissions().mode();
    assert_eq!(mode(&dir) & 0o777, 0o700);
    let records: Vec<_> = fs::read_dir(&dir).expect("a directory").flatten().collect();
    assert_eq!(records.len(), 1);
    let file = records[0].path();
    assert_eq!(mode(&file) & 0o777, 0o600);
    // Other users can write to the file now, and so could make any folder trusted.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o622)).expect("a mode");
    assert!(!place.trust().is_trusted());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("a mode");
    fs::write(&file, "{").expect("written");
    let why = place.trust().to_string();
    assert!(why.contains("trusted_tools"), "{why}");
}

#[test]
fn a_copied_record_does_not_count_elsewhere() {
    let place = Place::new();
    place.record();
    let other = place.root.with_file_name("other");
    fs::create_dir_all(other.join(".gemini/tools")).expect("made");
    let dir = place.home.join(".gemini/trusted_tools");
    let own = TrustRecord::path(&place.home, &place.root);
    assert!(own.starts_with(&dir));
    fs::copy(own, TrustRecord::path(&place.home, &other)).expect("copied");
    assert!(!Trust::judge(Some(&place.home), &other).is_trusted());
}

#[test]
fn the_nearest_rule_of_gemini_cli_wins_and_a_refusal_beats_our_record() {
    let place = Place::new();
    place.record();
    let (root, work) = (place.root.clone(), place.root.parent().expect("one"));
    let rules = |rules: &[(&str, &str)]| {
        let map: serde_json::Map<_, _> = rules
            .iter()
            .map(|(path, level)| ((*path).to_owned(), (*level).into()))
            .collect();
        place.folders(&format!("// a comment\n{}", serde_json::Value::from(map)));
        place.trust()
    };
    let (r, w) = (root.to_str().expect("text"), work.to_str().expect("text"));
    let sibling = format!("{w}/sibling");
    let said = |trust: Trust| trust.is_trusted();
    assert!(said(rules(&[(r, "TRUST_FOLDER"), (w, "DO_NOT_TRUST")])));
    assert!(!said(rules(&[(r, "DO_NOT_TRUST"), (w, "TRUST_FOLDER")])));
    assert!(!said(rules(&[("/", "DO_NOT_TRUST")])));
    remove(&place.home, &root).expect("removed");
    assert!(said(rules(&[("/", "TRUST_FOLDER")])));
    assert!(said(rules(&[(&sibling, "TRUST_PARENT")])));
    assert!(!said(rules(&[(&sibling, "TRUST_FOLDER")])));
    assert!(!said(rules(&[(&format!("{r}/below"), "TRUST_FOLDER")])));
    assert!(!said(rules(&[("project", "TRUST_FOLDER")])));
}

#[test]
fn a_broken_list_of_folders_trusts_nothing() {
    let place = Place::new();
    place.record();
    let root = place.root.to_str().expect("text").to_owned();
    for text in [
        "{".to_owned(),
        "[]".to_owned(),
        format!("{{{root:?}: \"TRUST\"}}"),
        format!("{{{root:?}: true}}"),
    ] {
        place.folders(&text);
        let why = place.trust().to_string();
        assert!(why.contains("trustedFolders.json"), "{text}: {why}");
        assert!(!place.trust().is_trusted(), "{text}");
    }
}

#[test]
fn the_trust_of_a_project_is_found_out_once() {
    let place = Place::new();
    let lazy = ProjectTrust::new(Some(&place.home), &place.root);
    assert!(!lazy.is_trusted());
    place.record();
    assert!(!lazy.is_trusted());
    let lazy = ProjectTrust::new(Some(&place.home), &place.root);
    assert!(lazy.is_trusted());
    place.write(".gemini/tools/a", "new");
    assert!(lazy.is_trusted());
    assert_eq!(lazy.again(), changed(&[".gemini/tools/a"]));
    assert!(ProjectTrust::known(Trust::Trusted(TrustedBy::Caller)).is_trusted());
}

#[test]
fn what_is_no_regular_file_can_be_seen_and_does_not_hang() {
    let place = Place::new();
    let fifo = place.root.join(".gemini/tools/pipe");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.expect("mkfifo").success());
    symlink("loop", place.root.join(".gemini/tools/loop")).expect("a link");
    symlink("..", place.root.join(".gemini/tools/up")).expect("a link");
    let refused = Fingerprint::look(&place.root).expect_err("a loop of directories");
    assert!(refused.to_string().contains("up"), "{refused}");
    fs::remove_file(place.root.join(".gemini/tools/up")).expect("removed");
    place.record();
    fs::remove_file(&fifo).expect("removed");
    place.write(".gemini/tools/pipe", "now a file");
    assert_eq!(place.trust(), changed(&[".gemini/tools/pipe"]));
}
