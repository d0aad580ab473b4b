//! Processes that stay in the background, and the tools that go on with them, each call a process of its own.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::{Workspace, marked_processes};

/// Long enough for anything here.
const WAIT_LIMIT: Duration = Duration::from_secs(20);

/// A workspace whose background processes are ended when the test is over, however it ends.
struct Project {
    ws: Workspace,
    marker: String,
}

impl Project {
    fn new(name: &str) -> Self {
        Self {
            ws: Workspace::new(),
            marker: format!("{}-{name}", std::process::id()),
        }
    }

    fn call(&self, tool: &str, arguments: &Value) -> String {
        let call = self.ws.tool(tool).arguments(arguments).unwatched();
        call.env("GEMINI_TREE", &self.marker).run().output()
    }

    /// Leaves a command in the background and gives back the first process id.
    fn leave(&self, command: &str) -> i32 {
        let text = self.call(
            "run_shell_command",
            &json!({"command": command, "is_background": true}),
        );
        first_pid(&text)
    }

    fn read(&self, arguments: &Value) -> String {
        self.call("read_background_output", arguments)
    }

    fn list(&self) -> String {
        self.call("list_background_processes", &json!({}))
    }

    fn stop(&self, pid: i32) -> String {
        self.call("stop_background_process", &json!({ "pid": pid }))
    }

    fn living(&self) -> Vec<(u32, String)> {
        marked_processes("GEMINI_TREE", &self.marker)
    }

    /// The supervisor of a job may end a moment after the last process of it.
    #[track_caller]
    fn wait_until_all_are_gone(&self) {
        let mut others = self.living();
        others.retain(|(_, line)| !line.contains("call_tool"));
        assert_eq!(others, []);
        self.wait_until("all are gone", |project| project.living().is_empty());
    }

    fn wait_until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let until = Instant::now() + WAIT_LIMIT;
        while !is_so(self) {
            assert!(
                Instant::now() < until,
                "{what}: {:?}\n{}",
                self.living(),
                self.list()
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The record of the only job.
    fn record(&self) -> PathBuf {
        let projects = self.ws.root().join("home/.gemini/tmp");
        let project = fs::read_dir(projects).expect("a project").flatten().next();
        let jobs = project.expect("one").path().join("background-processes");
        let files = fs::read_dir(jobs)
            .expect("jobs")
            .flatten()
            .map(|e| e.path());
        let mut records = files.filter(|p| p.extension().is_some_and(|e| e == "json"));
        records.next().expect("a record")
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        for (pid, _) in self.living() {
            if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
                // It may have ended in between.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

fn pids(text: &str) -> Vec<i32> {
    let line = text
        .lines()
        .rev()
        .find_map(|l| l.strip_prefix("Background PIDs: "));
    let ids = line.expect("a line of process ids").split(", ");
    ids.filter_map(|id| id.parse().ok()).collect()
}

#[track_caller]
fn first_pid(text: &str) -> i32 {
    *pids(text)
        .first()
        .unwrap_or_else(|| panic!("no process id in {text}"))
}

#[test]
fn a_line_that_ends_with_an_ampersand_answers_at_once_with_its_process_and_log() {
    let project = Project::new("ampersand");
    let text = project.call(
        "run_shell_command",
        &json!({"command": "echo started; sleep 300 &"}),
    );
    let pid = first_pid(&text);
    assert!(
        text.contains("\nOutput: started\n") && text.contains("\nExit Code: 0\n"),
        "{text}"
    );
    let log = text
        .split("\nBackground Output: ")
        .nth(1)
        .and_then(|r| r.split(' ').next());
    assert_eq!(
        fs::read_to_string(log.expect("a log")).expect("the log"),
        "started\n"
    );
    assert!(
        project
            .list()
            .starts_with(&format!("{pid} running: echo started; sleep 300 &"))
    );
    assert!(project.stop(pid).contains("was ended (1 process)"));
    project.wait_until_all_are_gone();
    assert!(
        project
            .list()
            .starts_with(&format!("{pid} ended by SIGTERM")),
        "{}",
        project.list()
    );
}

#[test]
fn a_server_is_waited_for_by_what_it_prints_and_read_in_pages() {
    let project = Project::new("server");
    let pid = project
        .leave("for i in $(seq 30); do echo line $i; sleep 0.02; done; echo ready; sleep 300");
    let text = project.read(&json!({"pid": pid, "pattern": "^ready$", "lines": 2}));
    assert!(
        text.contains("Line 30 matches \"^ready$\"") && text.contains("\nline 30\nready\n"),
        "{text}"
    );
    let page = project.read(&json!({"pid": pid, "offset": 3, "lines": 2}));
    assert!(
        page.contains("Showing lines 3 to 4 of 31") && page.contains("\nline 4\nline 5\n"),
        "{page}"
    );
    assert!(
        page.contains("[Truncated: continue with offset 5.]"),
        "{page}"
    );
    let late = project.read(&json!({"pid": pid, "offset": 31}));
    assert!(late.contains("no output from this line on yet"), "{late}");
    let never = project.read(&json!({"pid": pid, "pattern": "never", "wait": 0.3}));
    assert!(
        never.contains("No line matched \"never\" within 0."),
        "{never}"
    );
    project.stop(pid);
}

#[test]
fn output_in_an_older_encoding_is_decoded_and_searched_as_text() {
    let project = Project::new("encoding");
    let pid = project.leave(
        r"printf 'erste gr\366\337ere Zeile f\374r Fran\347ois\nend of \303\251t\303\251\n'; sleep 300",
    );
    let text = project.read(&json!({"pid": pid, "pattern": "größere", "wait": 20}));
    for piece in [
        "erste größere Zeile für François\nend of été\n",
        "[Decoded from windows-1252.]",
    ] {
        assert!(text.contains(piece), "{text}");
    }
    project.stop(pid);
}

#[test]
fn repetitive_lines_are_left_out_unless_they_are_asked_for() {
    let project = Project::new("repetitive");
    let pid = project.leave(
        "for i in $(seq 120); do echo Copying file number $i to /srv; done; echo ready; sleep 300",
    );
    let text = project.read(&json!({"pid": pid, "pattern": "^ready$"}));
    assert!(
        text.contains("Copying file number 22 to /srv\n… 90 lines like this (22-111)\n")
            && text.contains(
                "number 120 to /srv\nready\n[Condensed: 90 lines are left out; offset shows them.]"
            ),
        "{text}"
    );
    let asked = project.read(&json!({"pid": pid, "offset": 22, "lines": 90}));
    assert_eq!(asked.matches("Copying").count(), 90, "{asked}");
    project.stop(pid);
}

#[test]
fn a_prompt_without_a_line_feed_is_matched_too() {
    let project = Project::new("prompt");
    let pid = project.leave("printf 'Password: '; sleep 300");
    let text = project.read(&json!({"pid": pid, "pattern": "Password: $"}));
    assert!(text.contains("Line 0 matches"), "{text}");
    project.stop(pid);
}

/// The job writes on when the file is there.
#[test]
fn who_reads_on_gets_the_rest_of_a_line_that_had_not_ended() {
    let project = Project::new("unfinished");
    let pid = project.leave(
        "printf 'tests: '; until [ -e go ]; do sleep 0.02; done; echo '2 failed'; echo end; exec sleep 300",
    );
    let text = project.read(&json!({"pid": pid, "pattern": "tests: "}));
    assert!(
        text.ends_with("\n[To read on from here later: offset 0.]"),
        "{text}"
    );
    fs::write(project.ws.dir().join("go"), "").expect("written");
    let text = project.read(&json!({"pid": pid, "pattern": "end", "offset": 0}));
    assert!(text.contains("\ntests: 2 failed\nend\n"), "{text}");
    assert!(
        text.ends_with("\n[To read on from here later: offset 2.]"),
        "{text}"
    );
}

#[test]
fn the_end_of_a_process_is_waited_for_and_its_exit_code_remembered() {
    let project = Project::new("end");
    let pid = project.leave("sleep 0.5; echo last; exit 7");
    let text = project.read(&json!({"pid": pid, "wait": 20}));
    assert!(
        text.contains(&format!("Process {pid}: exited with code 7.")) && text.contains("\nlast"),
        "{text}"
    );
    assert!(
        project.list().contains("exited with code 7"),
        "{}",
        project.list()
    );
    assert!(
        project
            .stop(pid)
            .contains("was not running any more: exited with code 7")
    );
}

#[test]
fn a_command_that_fails_at_once_is_answered_as_such() {
    // On a loaded machine a command may need longer than "at once".
    let fails = |_| {
        let project = Project::new("fails");
        let arguments = json!({"command": "no-such-program", "is_background": true});
        let text = project.call("run_shell_command", &arguments);
        let is_told = text.contains("\nExit Code: 127\n");
        assert_eq!(is_told, text.contains("Background PIDs: (none)"), "{text}");
        is_told && project.list() == "There are no background processes."
    };
    assert!((0..30).any(fails));
}

#[test]
fn output_goes_on_after_the_call_without_a_broken_pipe() {
    let project = Project::new("goes-on");
    let text = project.call(
        "run_shell_command",
        &json!({"command": "(for i in $(seq 200); do echo $i; sleep 0.005; done; echo done) & echo first"}),
    );
    let pid = first_pid(&text);
    let text = project.read(&json!({"pid": pid, "pattern": "^done$"}));
    assert!(text.contains("\n200\ndone"), "{text}");
    project.wait_until("it ends by itself", |p| p.living().is_empty());
}

#[test]
fn everything_below_is_stopped_also_what_ignores_being_asked() {
    let project = Project::new("stop");
    let pid = project.leave(
        "trap '' TERM INT; (trap '' TERM; setsid sleep 300) & (sleep 301 &) ; sleep 302; sleep 303",
    );
    project.wait_until("the tree grows", |p| {
        p.living()
            .iter()
            .filter(|(_, l)| l.starts_with("sleep"))
            .count()
            == 3
    });
    assert!(
        project.stop(pid).contains("was ended"),
        "{}",
        project.list()
    );
    project.wait_until_all_are_gone();
}

#[test]
fn of_several_processes_one_can_be_stopped_alone() {
    let project = Project::new("several");
    let text = project.call(
        "run_shell_command",
        &json!({"command": "sleep 300 & sleep 301 &"}),
    );
    let ids = pids(&text);
    assert_eq!(ids.len(), 2, "{text}");
    project.stop(ids[1]);
    let lines: Vec<_> = project
        .living()
        .into_iter()
        .filter(|(_, l)| l.starts_with("sleep"))
        .collect();
    assert_eq!(lines, [(ids[0].cast_unsigned(), "sleep 300 ".to_owned())]);
    project.stop(ids[0]);
    project.wait_until_all_are_gone();
}

#[test]
fn a_job_whose_supervisor_was_killed_is_still_found_and_stopped() {
    let project = Project::new("supervisor");
    let pid = project.leave("sleep 300 & sleep 301; true");
    let record: Value = first_line(&fs::read_to_string(project.record()).expect("a record"));
    let supervisor = record["supervisor"]["pid"]
        .as_i64()
        .and_then(|p| i32::try_from(p).ok());
    kill_process(
        Pid::from_raw(supervisor.expect("a supervisor")).expect("its id"),
        Signal::KILL,
    )
    .expect("ours");
    project.wait_until("the supervisor is gone", |p| {
        p.list().starts_with(&format!("{pid} running")) && p.living().len() == 3
    });
    assert!(project.stop(pid).contains("was ended"));
    project.wait_until_all_are_gone();
}

fn first_line(text: &str) -> Value {
    serde_json::from_str(text.lines().next().expect("a line")).expect("JSON")
}

#[test]
fn an_id_that_is_used_again_is_neither_shown_as_running_nor_stopped() {
    let project = Project::new("stale");
    let pid = project.leave("echo hi; sleep 300");
    let path = project.record();
    project.stop(pid);
    let mut bystander = std::process::Command::new("sleep")
        .arg("300")
        .spawn()
        .expect("sleep");
    let id = i32::try_from(bystander.id()).expect("an id");
    let text = fs::read_to_string(&path).expect("a record");
    for change in ["startTime", "bootId"] {
        // A record of another process with the id, or of another run of the machine.
        let mut record = first_line(&text);
        let identity =
            json!({"pid": id, "startTime": start_time(id) + u64::from(change == "startTime")});
        record["processes"] = json!([identity]);
        record["supervisor"] = identity;
        record["session"] = json!(id);
        if change == "bootId" {
            record["bootId"] = json!("another");
        }
        fs::write(&path, format!("{record}\n")).expect("written");
        assert!(
            project.list().starts_with(&format!("{id} ended: ")),
            "{change}: {}",
            project.list()
        );
        assert!(
            project.stop(id).contains("was not running any more"),
            "{change}"
        );
        assert!(bystander.try_wait().expect("a child").is_none(), "{change}");
    }
    bystander.kill().expect("a child");
    bystander.wait().expect("a child");
}

fn start_time(pid: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let (_, rest) = text.rsplit_once(") ").expect("fields");
    rest.split(' ')
        .nth(19)
        .and_then(|f| f.parse().ok())
        .expect("a start time")
}

#[test]
fn records_that_are_none_are_passed_over() {
    let project = Project::new("odd");
    let pid = project.leave("sleep 300");
    let dir = project.record().parent().expect("a directory").to_owned();
    for (name, text) in [
        ("x.json", ""),
        ("y.json", "{}"),
        ("z.json", "\0\u{1}"),
        ("note.txt", "hi"),
    ] {
        fs::write(dir.join(name), text).expect("written");
    }
    assert_eq!(project.list().lines().count(), 1);
    project.stop(pid);
}

#[test]
fn processes_of_no_command_are_not_for_stopping_or_reading() {
    let project = Project::new("unknown");
    let me = json!({"pid": std::process::id()});
    for tool in ["stop_background_process", "read_background_output"] {
        let answer = project.ws.tool(tool).arguments(&me).unwatched().run();
        let message = answer.error("invalid_tool_params", 2);
        assert!(message.contains("list_background_processes"), "{message}");
    }
    let odd = project
        .ws
        .tool("read_background_output")
        .arguments(&json!({"pid": 1, "pattern": "("}));
    assert!(
        odd.run()
            .error("invalid_tool_params", 2)
            .contains("not a valid regular expression")
    );
}

#[test]
fn projects_do_not_see_each_others_processes() {
    let (one, other) = (Project::new("one"), Project::new("other"));
    let pid = one.leave("sleep 300");
    let call = other.ws.tool("list_background_processes").unwatched();
    let home = one.ws.root().join("home");
    let text = call
        .env("HOME", home.to_str().expect("UTF-8"))
        .run()
        .output();
    assert_eq!(text, "There are no background processes.");
    one.stop(pid);
}

#[test]
fn twenty_at_once_are_told_apart() {
    let project = Project::new("twenty");
    let ids: Vec<i32> = thread::scope(|scope| {
        let calls: Vec<_> = (0..20)
            .map(|i| {
                let project = &project;
                scope.spawn(move || project.leave(&format!("echo mine {i}; sleep 300")))
            })
            .collect();
        calls
            .into_iter()
            .map(|c| c.join().expect("a call"))
            .collect()
    });
    assert_eq!(
        project
            .list()
            .lines()
            .filter(|l| l.contains(" running: "))
            .count(),
        20
    );
    for (i, pid) in ids.iter().enumerate() {
        let text = project.read(&json!({"pid": pid, "pattern": "mine"}));
        assert!(text.contains(&format!("\nmine {i}\n")), "{text}");
        project.stop(*pid);
    }
    project.wait_until_all_are_gone();
}

#[test]
fn stopping_one_that_has_ended_leaves_the_others_alone() {
    let project = Project::new("ended");
    let text = project.call(
        "run_shell_command",
        &json!({"command": "sleep 0.2 & sleep 45.7 & echo begun"}),
    );
    let [short, long] = pids(&text)[..] else {
        panic!("two ids: {text}");
    };
    let first = format!("{short} running ({short} itself ");
    project.wait_until("the first has ended", |p| p.list().starts_with(&first));
    let said = project.stop(short);
    let whole = format!(". Still running of the same command: {long}.");
    assert!(
        said.contains("was not running any more") && said.contains(&whole),
        "{said}"
    );
    let is_alive = |p: &Project| p.living().iter().any(|(_, line)| line.contains("45.7"));
    assert!(is_alive(&project));
    let said = project.stop(long);
    assert!(said.contains("was ended (1 process)"), "{said}");
    assert!(!is_alive(&project));
}

#[test]
fn a_time_limit_that_does_not_count_is_told_of() {
    let session = Project::new("limit");
    let both = json!({"command": "sleep 60", "is_background": true, "timeout": 5});
    let text = session.call("run_shell_command", &both);
    let said = "Time Limit: (none), because timeout does not count with is_background";
    assert!(text.contains(said), "{text}");
    session.stop(first_pid(&text));
    let counts = json!({"command": "sleep 60 & true", "timeout": 5});
    let text = session.call("run_shell_command", &counts);
    assert!(!text.contains("Time Limit"), "{text}");
    session.stop(first_pid(&text));
}

#[test]
fn an_id_that_no_process_can_have_is_one_that_is_not_there() {
    let ws = Workspace::new();
    for tool in ["read_background_output", "stop_background_process"] {
        for (pid, shown) in [(json!(2_147_483_648_u64), "2147483648"), (json!(5.0), "5")] {
            let answer = ws.call(tool, &json!({ "pid": pid }));
            let message = answer.error("invalid_tool_params", 2);
            let wanted = format!("Process {shown} is not a background process");
            assert!(message.contains(&wanted), "{message}");
        }
    }
}
