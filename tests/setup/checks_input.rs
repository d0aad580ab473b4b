//! `call_tool --check`: the files that it is given, and those that it can't read.

use super::sarif::{check_junit, check_sarif};
use crate::harness::{Workspace, has_signal, set_mode, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

const RULE: &str = "[[rule]]\nid='x'\npattern='b[a]d'\n";

/// The options that name a file which the check reads.
const NAMED: [&[&str]; 4] = [
    &["--check", "pipe"],
    &["--check", "checks.toml", "--baseline", "pipe"],
    &["--check", "checks.toml", "--files-from", "pipe"],
    &["search_file_content", "bad", "--files-from", "pipe"],
];

fn project() -> Workspace {
    Workspace::new()
        .file("checks.toml", RULE)
        .file("a", "bad\n")
        .fifo("pipe")
}

#[test]
fn a_pipe_that_nobody_writes_to_is_waited_for_only_as_long_as_the_call_may_take() {
    let ws = project();
    for args in NAMED {
        let answer = ws.call_tool(args).env("GEMINI_TOOLS_TIMEOUT", "1").run();
        assert_eq!(answer.status(), 124, "{args:?}: {}", answer.shown());
        let lint = ws.get_tools(&["lint", "pipe"]);
        let lint = lint.env("GEMINI_TOOLS_TIMEOUT", "1").run();
        assert_eq!(lint.status(), 2, "{}", lint.shown());
    }
}

#[test]
fn a_signal_ends_a_check_that_waits_for_a_pipe() {
    let ws = project();
    for (args, (signal, status)) in NAMED.into_iter().zip(
        [(Signal::TERM, 143), (Signal::INT, 130)]
            .into_iter()
            .cycle(),
    ) {
        let running = ws.call_tool(args).start();
        wait_until("its handlers", || {
            has_signal(running.id(), "SigCgt:", signal)
        });
        thread::sleep(Duration::from_millis(300));
        let pid = Pid::from_raw(i32::try_from(running.id()).expect("an id")).expect("a process");
        kill_process(pid, signal).expect("a child of ours");
        assert_eq!(running.finish().status(), status, "{args:?}");
    }
}

#[test]
fn rules_and_known_findings_may_come_from_pipes() {
    let ws = project();
    let script = "exec \"$@\" --check <(cat checks.toml) --baseline <(printf 'x\\ta\\tbad\\n')";
    let answer = ws.call_tool(&[]).in_bash(script).run();
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    answer.must_say(answer.text(), &["1 finding in the baseline"]);
    let declared = "exec \"$@\" <(echo; printf '[%700s]' '')";
    let lint = ws.get_tools(&["lint"]).in_bash(declared).run();
    assert_eq!(lint.status(), 0, "{}", lint.shown());
}

#[test]
fn a_baseline_without_end_is_refused() {
    let ws = project();
    let answer = ws
        .call_tool(&["--check", "checks.toml", "--baseline", "/dev/zero"])
        .run();
    assert_eq!(answer.status(), 2);
    answer.must_say(&answer.errors(), &["larger than 8388608 bytes"]);
}

#[test]
fn a_baseline_that_is_written_anew_keeps_its_mode_and_its_place() {
    let ws = Workspace::new()
        .file("checks.toml", format!("{RULE}include='a'\n"))
        .file("a", "bad\n")
        .file("real.txt", "x\ta\tbad\nx\tb\tbad\n")
        .mode("real.txt", 0o600)
        .link("known.txt", "real.txt")
        .unprivileged();
    let update = || {
        ws.call_tool(&["--check", "checks.toml", "--update-baseline"])
            .flags(&["--baseline", "known.txt"])
            .changing(&["real.txt"])
            .run()
    };
    assert_eq!(update().text(), "known.txt has 1 finding.\n");
    let real = ws.dir().join("real.txt");
    let mode = || real.metadata().expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    assert!(ws.dir().join("known.txt").is_symlink());
    set_mode(&real, 0o444);
    std::fs::write(ws.path("a"), "good\n").expect("written");
    let refused = update();
    assert_eq!(refused.status(), 2, "{}", refused.shown());
    refused.must_say(&refused.errors(), &["known.txt can't be written"]);
    assert_eq!(mode(), 0o444);
    let content = std::fs::read_to_string(&real).expect("text");
    assert!(content.ends_with("x\ta\tbad\n"), "{content}");
}

#[test]
fn a_baseline_keeps_the_findings_of_what_can_not_be_read() {
    let known = "x\ta\tbad\nx\tb\tbad\n";
    let ws = Workspace::new()
        .file("checks.toml", RULE)
        .file("a", "bad\n")
        .file("b", "bad\n")
        .file("known.txt", known)
        .mode("b", 0o000)
        .unprivileged();
    let check = ["--check", "checks.toml", "--baseline", "known.txt"];
    let update = ws.call_tool(&check).flags(&["--update-baseline"]).run();
    assert_eq!(update.status(), 2, "{}", update.shown());
    update.must_say(
        &update.errors(),
        &[
            "baseline known.txt is left as it is",
            "1 file or directory",
            "b:",
        ],
    );
    let kept = std::fs::read_to_string(ws.path("known.txt")).expect("text");
    assert_eq!(kept, known);
}

#[test]
fn only_a_check_of_all_files_says_which_known_findings_are_gone() {
    let ws = Workspace::new()
        .file("checks.toml", RULE)
        .file("a", "good\n")
        .file("b", "good\n")
        .file("known.txt", "x\ta\tbad\nx\tb\tbad\n")
        .git();
    ws.git_command(&["add", "."]);
    ws.git_command(&["commit", "-q", "-m", "all"]);
    let check = ["--check", "checks.toml", "--baseline", "known.txt"];
    let gone = "of the baseline gone";
    let whole = ws.call_tool(&check).run();
    whole.must_say(whole.text(), &["2 findings of the baseline gone"]);
    // Only the first reads standard input.
    for (selection, input) in [
        (&["--files-from", "-"][..], "a\n"),
        (&["--changed", "HEAD"], ""),
        (&["--changed-lines", "HEAD"], ""),
    ] {
        let part = ws.call_tool(&check).flags(selection).input(input).run();
        assert_eq!(part.status(), 0, "{selection:?}: {}", part.shown());
        assert!(!part.text().contains(gone), "{}", part.shown());
    }
}

#[test]
fn a_file_that_a_list_names_twice_is_checked_once() {
    let ws = Workspace::new()
        .file("checks.toml", RULE)
        .file("s/f", "bad\n");
    let list = format!("s/f\n./s/f\ns/../s/f\n{}\nnone\n./none\n", ws.path("s/f"));
    let check = ws.call_tool(&["--check", "checks.toml", "--files-from", "-"]);
    let answer = check.input(list).run();
    answer.must_say(
        answer.text(),
        &[
            "1 error in 1 file by",
            "1 name of the list left out: none is not there.",
        ],
    );
}

#[test]
fn what_could_not_be_read_is_named_and_makes_no_report_a_good_one() {
    let ws = Workspace::new()
        .file(
            "checks.toml",
            "[[rule]]\nid='x'\npattern='b[a]d'\n[[rule]]\nid='s'\nglob='sec/s'\nrequire=true\n\
             [[rule]]\nid='l'\nglob='LICENSE'\nrequire=true\n",
        )
        .file(
            "only.toml",
            "[[rule]]\nid='x'\npattern='b[a]d'\ninclude='sec/**'\n",
        )
        .file("LICENSE", "x\n")
        .file("noread", "bad\n")
        .mode("noread", 0)
        .file("sec/s", "bad\n")
        .mode("sec", 0)
        .unprivileged();
    let told = ["2 files or directories not read", "noread: ", "sec"];
    for args in [
        &["--check", "checks.toml"][..],
        &["search_file_content", "bad", "--fail-on-match"],
    ] {
        let run = |flags: &[&str]| {
            let answer = ws.call_tool(args).flags(flags).run();
            assert_eq!(answer.status(), 2, "{}", answer.shown());
            answer
        };
        let is_search = args[0] == "search_file_content";
        let text = run(if is_search { &["-o", "lines"] } else { &[] });
        text.must_say(&text.shown(), &told);
        assert!(!text.shown().contains("no file sec/s"), "{}", text.shown());
        let sarif = run(&["--format", "sarif"]);
        let document = sarif.json();
        check_sarif(&document);
        let invocation = &document["runs"][0]["invocations"][0];
        assert_eq!(invocation["executionSuccessful"], false);
        let junit = run(&["--format", "junit"]);
        check_junit(junit.text());
        junit.must_say(junit.text(), &["errors=\"1\"", told[0]]);
        let github = run(&["--format", "github"]);
        github.must_say(github.text(), &["::error::2 files"]);
    }
    // Whether a file matches the include can't be known, so nothing is said against it.
    let only = ws.call_tool(&["--check", "only.toml"]).run();
    assert_eq!(only.status(), 2, "{}", only.shown());
    assert!(
        !only.shown().contains("No file matches"),
        "{}",
        only.shown()
    );
    // A required file that can't lie in the unread directory is missing.
    let ws = Workspace::new()
        .file(
            "checks.toml",
            "[[rule]]\nid='l'\nglob='docs/LICENSE'\nrequire=true\n",
        )
        .file("sec/s", "bad\n")
        .mode("sec", 0)
        .unprivileged();
    let answer = ws.call_tool(&["--check", "checks.toml"]).run();
    assert_eq!(answer.status(), 1, "{}", answer.shown());
}

#[test]
fn a_command_line_of_a_check_that_makes_no_sense_is_told_to_a_person() {
    let ws = project();
    for args in [
        &["--check"][..],
        &["--check", "checks.toml", "--nonsense", "--format", "sarif"],
        &["--undo", "--nonsense"],
    ] {
        let answer = ws.call_tool(args).run();
        assert_eq!(answer.status(), 2, "{args:?}: {}", answer.shown());
        assert_eq!(answer.text(), "", "{args:?}");
        answer.must_say(&answer.errors(), &["call_tool: "]);
    }
}

#[test]
fn a_rule_file_and_a_baseline_are_files_but_no_line_of_them_is_checked() {
    let ws = Workspace::new()
        .file(
            "checks.toml",
            "baseline='known.txt'\n[[rule]]\nid='x'\npattern='b[a]d'\n[[rule]]\nid='c'\nglob='checks.toml'\nrequire=true\n",
        )
        .file("more.toml", "baseline='other.txt'\n[[rule]]\nid='y'\npattern='worse'\n")
        .file("known.txt", "x\ta\tbad\n")
        .file("other.txt", "y\ta\tworse\nz\ta\tbad\n")
        .file("a", "good\n");
    let both = ["--check", "checks.toml", "more.toml"];
    let refused = ws.call_tool(&both).run();
    assert_eq!(refused.status(), 2, "{}", refused.shown());
    refused.must_say(&refused.errors(), &["different baselines"]);
    let chosen = ws
        .call_tool(&both)
        .flags(&["--baseline", "known.txt"])
        .run();
    assert_eq!(chosen.status(), 0, "{}", chosen.shown());
    let directory = ws.call_tool(&["--check", "more.toml", "--files-from", "-"]);
    let directory = directory.input("a\n.\n").run();
    let told = "1 name of the list left out: . is a directory";
    directory.must_say(directory.text(), &[told]);
}

#[test]
fn a_list_of_which_nothing_can_be_looked_at_does_not_pass() {
    let ws = Workspace::new()
        .file("checks.toml", RULE)
        .file("names.toml", "[[rule]]\nid='x'\nname='.*'\n")
        .file(".geminiignore", "closed\n")
        .file("closed", "good\n")
        .file("pkg/a", "good\n")
        .file("good", "good\n")
        .link("link", "good")
        .fifo("pipe");
    let check = |rules: &str, list: &str| {
        let call = ws.call_tool(&["--check", rules, "--files-from", "-"]);
        call.input(list).run()
    };
    for (name, said) in [
        ("a", "a is not there. Names count from the project's root"),
        (
            "good\r",
            "good\\x{0d} is not there. Its lines end with a carriage return",
        ),
        ("pkg", "pkg is a directory"),
        ("pipe", "pipe is a special file"),
    ] {
        let alone = check("checks.toml", &format!("{name}\n{name}\n"));
        assert_eq!(alone.status(), 2, "{}", alone.shown());
        let said = format!("Nothing of the list can be looked at: {said}");
        alone.must_say(&alone.errors(), &[&said]);
        let with = check("checks.toml", &format!("{name}\ngood\n"));
        assert_eq!(with.status(), 0, "{}", with.shown());
        with.must_say(with.text(), &["1 name of the list left out: "]);
    }
    // That nothing is looked at here is what the project wants.
    let closed = check("checks.toml", "closed\n");
    assert_eq!(closed.status(), 0, "{}", closed.shown());
    closed.must_say(closed.text(), &["closed is excluded by .geminiignore"]);
    // A commit may be of a link or of a submodule's new commit only.
    std::fs::create_dir_all(ws.path("sub/.git")).expect("a repository");
    for name in ["link", "sub"] {
        let alone = check("checks.toml", &format!("{name}\n"));
        assert_eq!(alone.status(), 0, "{}", alone.shown());
        alone.must_say(alone.text(), &["1 name of the list left out: "]);
    }
    // A name is all that this rule looks at.
    assert_eq!(check("names.toml", "link\npipe\n").status(), 0);
    // Nothing is looked at for a rule about other files, and that is no slip in the list.
    let other = "[[rule]]\nid='x'\npattern='b[a]d'\ninclude='*.rs'\n";
    std::fs::write(ws.path("other.toml"), other).expect("written");
    assert_eq!(check("other.toml", "good\nlink\n").status(), 0);
}

#[test]
fn what_has_changed_is_found_in_any_history_and_in_patches_of_any_size() {
    let ws = Workspace::new()
        .file("checks.toml", RULE)
        .file("a", "good\n".repeat(200));
    let check = |base: &str| {
        let call = ws.call_tool(&["--check", "checks.toml", "--changed-lines", base]);
        call.unwatched().run()
    };
    let nowhere = check("HEAD");
    assert_eq!(nowhere.status(), 2);
    nowhere.must_say(&nowhere.errors(), &["not a git repository"]);
    let is_short = nowhere.errors().lines().count() == 1 && !nowhere.errors().contains("fetch");
    assert!(is_short, "{}", nowhere.shown());
    let author = ["-c", "user.name=a", "-c", "user.email=a@b.c"];
    let git = |args: &[&str]| ws.git_command(&[&author[..], args].concat());
    git(&["init", "-q", "."]);
    git(&["add", "."]);
    git(&["commit", "-qm", "first"]);
    let blob = check("HEAD:a");
    assert_eq!(blob.status(), 2);
    blob.must_say(&blob.errors(), &["not a commit"]);
    assert!(blob.errors().lines().count() < 5, "{}", blob.shown());
    // Two branches that have merged each other have two merge bases.
    for branch in ["left", "right"] {
        git(&["checkout", "-qb", branch, "HEAD"]);
        std::fs::write(ws.path(branch), "new\n").expect("written");
        git(&["add", "."]);
        git(&["commit", "-qm", branch]);
        git(&["tag", &format!("{branch}-first")]);
        git(&["checkout", "-q", "--detach", "HEAD~"]);
    }
    for (branch, other) in [("left", "right-first"), ("right", "left-first")] {
        git(&["checkout", "-q", branch]);
        git(&["merge", "-q", "-m", "both", other]);
    }
    std::fs::write(ws.path("b"), "bad\n").expect("written");
    std::fs::write(ws.path("long"), "a long line of text\n".repeat(900_000)).expect("written");
    git(&["add", "."]);
    let crossed = check("left");
    assert_eq!(crossed.status(), 1, "{}", crossed.shown());
    crossed.must_say(crossed.text(), &["b:1:1: error[x]"]);
}

#[test]
fn a_list_of_paths_says_which_directories_were_not_read() {
    let ws = Workspace::new()
        .file("a.txt", "x\n")
        .file("sec/b.txt", "x\n")
        .mode("sec", 0)
        .unprivileged();
    for form in [&["-o", "lines"][..], &["-0"]] {
        let answer = ws.call_tool(&["glob", "**"]).flags(form).run();
        answer.must_say(&answer.errors(), &["1 file or directory not read", "sec"]);
    }
    let result = ws.call_tool(&["glob", "**", "-o", "result"]).run();
    assert_eq!(result.json()["data"]["unreadable"], 1, "{}", result.shown());
}

#[test]
fn a_glob_that_can_match_nothing_by_a_slip_is_no_rule_that_holds() {
    for (key, glob, said) in [
        ("glob", "*.{orig,rej", "it has a { without a }"),
        ("glob", "[z-a].txt", "a range of [z-a] runs backwards"),
        ("include", "src/[ab/*.rs", "it has a [ without a ]"),
        ("exclude", "@(a|b", "it has a ( without a )"),
    ] {
        let pattern = if key == "glob" { "" } else { "pattern='x'\n" };
        let rule = format!("[[rule]]\nid='x'\n{pattern}{key}='{glob}'\n");
        let ws = Workspace::new().file("checks.toml", &rule).file("a", "x\n");
        let line = rule.lines().count();
        let place = format!("checks.toml:{line}:{}", key.len() + 2);
        for answer in [
            ws.call_tool(&["--check", "checks.toml"]).run(),
            ws.get_tools(&["lint", "checks.toml"]).run(),
        ] {
            assert!(answer.status() > 0, "{glob}: {}", answer.shown());
            answer.must_say(&answer.shown(), &[&place, said]);
        }
    }
    let fine = "[[rule]]\nid='x'\nglob=['[id]/*', '\\[', 'a\\{b', '!(a)', '{a,[{]}', 'f(x)', '[]a]', ')}']\n";
    let ws = Workspace::new().file("checks.toml", fine).file("a", "x\n");
    let answer = ws.call_tool(&["--check", "checks.toml"]).run();
    assert_eq!(answer.status(), 1, "{}", answer.shown());
}

#[test]
fn names_that_git_lists_are_the_files_that_are_meant() {
    let names = [
        "é.txt",
        "tab\there",
        "a\"b",
        "\"quoted\"",
        "back\\slash",
        "日本/x",
        "plain",
    ];
    let mut ws = Workspace::new().file("checks.toml", RULE);
    for name in names {
        ws = ws.file(name, "bad\n");
    }
    let ws = ws.git();
    ws.git_command(&["add", "."]);
    for flags in [
        &["diff", "--cached", "--name-only"][..],
        &["ls-files", "-z"],
    ] {
        let list = ws.program(Path::new("git"), flags).run();
        let check = ws.call_tool(&["--check", "checks.toml", "--files-from", "-"]);
        let said = check.input(list.text()).run();
        said.must_say(said.text(), &["7 errors in 7 files by 1 rule."]);
        assert!(!said.text().contains("left out"), "{}", said.text());
    }
}

#[test]
fn a_name_that_counts_from_the_top_of_the_repository_is_explained() {
    let ws = Workspace::new()
        .file("sub/checks.toml", RULE)
        .file("sub/x", "bad\n")
        .file("sub/README", "good\n")
        .file("README", "good\n")
        .git();
    let check = ws.call_tool(&["--check", "checks.toml", "--files-from", "-"]);
    let said = check
        .in_bash("cd sub && exec \"$@\"")
        .input("README\nsub/x\n")
        .run();
    assert_eq!(said.status(), 2);
    said.must_say(
        &said.errors(),
        &["The listed file sub/x is not there. git's names count"],
    );
    // A file that was deleted here, and whose name is also that of another one above.
    let ws = ws.file("gone", "good\n");
    let check = ws.call_tool(&["--check", "checks.toml", "--files-from", "-"]);
    let said = check.in_bash("cd sub && exec \"$@\"").input("gone\nx\n");
    let said = said.run();
    said.must_say(
        said.text(),
        &["left out: gone is not there.", "1 error in 1 file"],
    );
}

#[test]
fn changed_files_of_a_partial_clone_are_known_and_lines_once_git_has_fetched() {
    let ws = Workspace::new();
    let setup = "export GIT_AUTHOR_NAME=o GIT_AUTHOR_EMAIL=o@o GIT_COMMITTER_NAME=o GIT_COMMITTER_EMAIL=o@o \
        && git init -q o && cd o && git config uploadpack.allowFilter true && seq 9999 >f && seq 9999 >g \
        && git add . && git commit -qm 1 && git branch base && echo bad >>f && git mv g h && echo bad >>h \
        && git commit -qam 2 && cd .. && git clone -q --filter=blob:none \"file://$PWD/o\" c";
    let made = ws
        .program(Path::new("bash"), &["-c", setup])
        .unwatched()
        .run();
    assert_eq!(made.status(), 0, "{}", made.shown());
    let ws = ws.file("c/checks.toml", RULE);
    let check = |flag: &str| {
        let call = ws.call_tool(&["--check", "checks.toml", flag, "origin/base"]);
        call.in_bash("cd c && exec \"$@\"").unwatched().run()
    };
    let files = check("--changed");
    files.must_say(files.text(), &["f:10000:1: error", "h:10000:1: error"]);
    let lines = check("--changed-lines");
    assert_eq!(lines.status(), 2, "{}", lines.shown());
    lines.must_say(
        &lines.errors(),
        &["`git diff --stat BASE...` fetches that."],
    );
    let git = ["-C", "c", "diff", "--stat", "origin/base..."];
    assert_eq!(
        ws.program(Path::new("git"), &git)
            .unwatched()
            .run()
            .status(),
        0
    );
    let lines = check("--changed-lines");
    lines.must_say(lines.text(), &["f:10000:1: error", "h:10000:1: error"]);
}

#[test]
fn git_is_asked_with_the_settings_of_the_users_environment() {
    let ws = Workspace::new()
        .file("checks.toml", RULE)
        .file("old", "good\n")
        .home("ignored", "*.tmp\n")
        .git();
    ws.git_command(&["add", "."]);
    ws.git_command(&["commit", "-q", "-m", "all"]);
    let ws = ws.file("a.tmp", "bad\n").file("a", "bad\n");
    let check = |base: &str| ws.call_tool(&["--check", "checks.toml", "--changed", base]);
    let said = check("HEAD").run();
    said.must_say(said.text(), &["2 errors in 2 files"]);
    let ignored = format!("{}/home/ignored", ws.root().display());
    let said = check("HEAD")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "core.excludesFile")
        .env("GIT_CONFIG_VALUE_0", &ignored)
        .run();
    said.must_say(said.text(), &["1 error in 1 file"]);
    // As where a variable of the CI service is not set.
    let said = check("").run();
    assert_eq!(said.status(), 2);
    said.must_say(&said.errors(), &["'--changed <BASE>'"]);
    let said = check("HEAD").env("PATH", "/nowhere").run();
    said.must_say(&said.errors(), &["has to be on the PATH"]);
}
