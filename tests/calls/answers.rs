//! The wire between us and a host: exit statuses, silence, the forms of an answer, its encoding.

use std::fs;
use std::io::{ErrorKind, Read};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::process::Signal;
use serde_json::{Value, json};
use sha2::Digest;

use crate::harness::{Answer, PNG_BASE64, Workspace, lines, set_age, write};

fn hello() -> Workspace {
    Workspace::new().file("hello.txt", "hello\n")
}

fn with_image() -> Workspace {
    let png = STANDARD.decode(PNG_BASE64).expect("base64");
    Workspace::new().file("dot.png", png)
}

#[test]
fn success_is_one_document_and_exit_status_0() {
    let ws = hello();
    let answer = ws.call("read_file", &json!({"absolute_path": ws.path("hello.txt")}));
    let expected =
        json!({"functionResponse": {"name": "read_file", "response": {"output": "hello\n"}}});
    assert_eq!(answer.json(), expected);
    assert_eq!(answer.output(), "hello\n");
}

#[test]
fn each_failure_has_its_exit_status_and_names_its_cause() {
    let ws = hello();
    for (tool, input, error_type, status, piece) in [
        (
            "read_file",
            r#"{"absolute_path": "none.txt"}"#,
            "file_not_found",
            1,
            "none.txt",
        ),
        ("read_file", "{}", "invalid_tool_params", 2, "absolute_path"),
        ("no_such_tool", "{}", "tool_not_registered", 2, "no_such"),
        // No input is an empty object.
        ("glob", "", "invalid_tool_params", 2, "pattern"),
        ("glob", " \n", "invalid_tool_params", 2, "pattern"),
    ] {
        let answer = ws.tool(tool).input(input).run();
        answer.must_say(&answer.error(error_type, status), &[piece]);
    }
}

#[test]
fn id_is_given_back_in_a_success_and_in_a_failure() {
    let ws = hello();
    for input in [r#"{"absolute_path": "hello.txt"}"#, "{}"] {
        let call = ws.tool("read_file").flags(&["--id", "call-17"]);
        let answer = call.input(input).run();
        assert_eq!(answer.function_response().id.as_deref(), Some("call-17"));
    }
}

#[test]
fn host_may_call_by_the_name_that_it_has_made_of_ours() {
    let ws = hello();
    let arguments = json!({"absolute_path": ws.path("hello.txt")});
    let answer = ws
        .call_tool(&["discovered_tool_read_file"])
        .arguments(&arguments)
        .run();
    assert_eq!(answer.output(), "hello\n");
}

#[test]
fn host_may_add_its_own_key() {
    let ws = hello();
    let arguments = json!({"absolute_path": ws.path("hello.txt"), "wait_for_previous": true});
    assert_eq!(ws.call("read_file", &arguments).output(), "hello\n");
    let strict = ws
        .tool("read_file")
        .flags(&["--strict"])
        .arguments(&arguments)
        .run();
    assert_eq!(strict.output(), "hello\n", "under --strict too");
}

/// A file as `read_file` answers in a form.
fn read_as(ws: &Workspace, form: &str, name: &str) -> Answer {
    let call = ws.tool("read_file").flags(&["--output", form]);
    call.arguments(&json!({ "absolute_path": name })).run()
}

#[test]
fn output_part_is_the_default_form_and_an_unknown_one_is_refused() {
    let ws = hello();
    let by_default = ws.call("read_file", &json!({"absolute_path": "hello.txt"}));
    let asked_for = read_as(&ws, "part", "hello.txt");
    assert_eq!(by_default.stdout, asked_for.stdout);
    assert_eq!(read_as(&ws, "yaml", "hello.txt").status(), 2);
}

#[test]
fn output_response_is_only_the_response() {
    let ws = hello();
    let answer = read_as(&ws, "response", "hello.txt");
    assert_eq!(answer.json(), json!({"output": "hello\n"}));
    let failed = read_as(&ws, "response", "none.txt");
    assert_eq!(failed.json()["errorType"], "file_not_found");
    assert_eq!(failed.status(), 1);
}

#[test]
fn output_content_is_the_message_for_the_history_with_media_at_its_end() {
    let ws = hello();
    let call = ws
        .tool("read_file")
        .flags(&["--output", "content", "--id", "7"]);
    let answer = call
        .arguments(&json!({"absolute_path": ws.path("hello.txt")}))
        .run();
    let part = json!({"functionResponse": {"id": "7", "name": "read_file", "response": {"output": "hello\n"}}});
    assert_eq!(answer.json(), json!({"role": "user", "parts": [part]}));
    let content = read_as(&with_image(), "content", "dot.png").json();
    let said = "Binary content of type image/png was processed.";
    assert_eq!(
        content["parts"][0]["functionResponse"]["response"]["output"],
        said
    );
    let media = json!({"inlineData": {"mimeType": "image/png", "data": PNG_BASE64}});
    assert_eq!(content["parts"][1], media);
    assert_eq!(content["parts"].as_array().map(Vec::len), Some(2));
}

#[test]
fn output_result_is_the_whole_tool_result() {
    let ws = hello();
    let result = read_as(&ws, "result", "hello.txt").json();
    assert_eq!(result["llmContent"], "hello\n");
    assert!(result.get("returnDisplay").is_some(), "{result}");
    let failed = read_as(&ws, "result", "none.txt");
    assert!(failed.json()["error"].is_object(), "{}", failed.text());
    assert_eq!(failed.status(), 1);
}

#[test]
fn output_text_is_for_people() {
    let ws = hello();
    let answer = read_as(&ws, "text", "hello.txt");
    assert_eq!((answer.text(), answer.status()), ("hello\n", 0));
    assert!(answer.stderr.is_empty());
    let failed = read_as(&ws, "text", "none.txt");
    assert_eq!((failed.text(), failed.status()), ("", 1));
    let message = failed.errors();
    failed.must_say(&message, &["none.txt"]);
}

#[test]
fn output_text_has_no_colours_in_a_pipe() {
    let ws = hello();
    let arguments =
        json!({"file_path": ws.path("hello.txt"), "old_string": "hello", "new_string": "bye"});
    let call = ws
        .tool("replace")
        .flags(&["--output", "text"])
        .arguments(&arguments);
    let answer = call.changing(&["hello.txt"]).run();
    assert!(!answer.text().contains('\u{1b}'), "{}", answer.text());
}

#[test]
fn environment_chooses_the_form_and_the_flag_overrules_it() {
    let ws = hello();
    let arguments = json!({"absolute_path": ws.path("hello.txt")});
    let call = || {
        ws.tool("read_file")
            .arguments(&arguments)
            .env("GEMINI_TOOLS_OUTPUT", "response")
    };
    assert_eq!(call().run().json(), json!({"output": "hello\n"}));
    let overruled = call().flags(&["--output", "part"]).run();
    assert_eq!(overruled.output(), "hello\n");
}

#[test]
fn media_stand_in_the_parts_of_the_function_response() {
    let ws = with_image();
    let answer = ws.call("read_file", &json!({"absolute_path": ws.path("dot.png")}));
    assert_eq!(
        answer.output(),
        "Binary content of type image/png was processed."
    );
    let parts = answer.function_response().parts;
    let [part] = parts.as_slice() else {
        answer.fail("expected one part");
    };
    assert_eq!(part.inline_data.mime_type, "image/png");
    assert_eq!(part.inline_data.data, PNG_BASE64);
}

/// Many lines of multi-byte characters: more than 60,000 bytes as an answer.
fn long_text() -> String {
    lines(1500, |n| {
        format!("{n}: Größe € 日本語 👋🏽 и так далее, bis zum Ende der Zeile …\n")
    })
}

/// What a reader gets at once that takes 64 KiB at most, as node does, and not always at once.
fn pieces_of(mut reader: impl Read) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match reader.read(&mut buffer).expect("readable") {
            0 => return pieces,
            count => pieces.push(buffer[..count].to_vec()),
        }
        if pieces.len() % 3 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The text of an answer that `call_tool` wrote to `stdout`, whose other end `reader` is. Each
/// piece that is read at once must be UTF-8 by itself.
fn long_answer_to(stdout: OwnedFd, reader: impl Read) -> (String, bool) {
    let ws = Workspace::new().file("long.txt", long_text());
    let path = format!("absolute_path={}", ws.path("long.txt"));
    let mut command = ws.tool("read_file").flags(&[&path]).command();
    command.stdin(Stdio::null()).stdout(stdout);
    let mut child = command.spawn().expect("call_tool");
    drop(command);
    let pieces = pieces_of(reader);
    assert!(child.wait().expect("our child").success());
    let decoded = pieces.iter().map(|piece| String::from_utf8_lossy(piece));
    let text: String = decoded.collect();
    let document: Value = serde_json::from_str(&text).expect("one document");
    let output = document["functionResponse"]["response"]["output"].as_str();
    (output.expect("a text").to_owned(), text.is_ascii())
}

#[cfg(target_os = "linux")]
#[test]
fn a_long_answer_reaches_a_host_with_each_character_whole_and_unescaped() {
    // As node starts programs.
    let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
    let (text, is_ascii) = long_answer_to(theirs.into(), ours);
    assert!(text == long_text() && !is_ascii);
    // As others do; the smaller is what the kernel gives to a user with many pipes.
    for capacity in [4096, 64 * 1024, 1024 * 1024] {
        let (ours, theirs) = std::io::pipe().expect("a pipe");
        rustix::pipe::fcntl_setpipe_size(&theirs, capacity).expect("a size");
        let (text, is_ascii) = long_answer_to(theirs.into(), ours);
        assert!(text == long_text() && !is_ascii, "{capacity}");
    }
}

#[test]
fn a_long_answer_is_escaped_where_the_system_does_not_say_what_was_read() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let theirs = TcpStream::connect(address).expect("a connection");
    let (ours, _) = listener.accept().expect("a connection");
    let (text, is_ascii) = long_answer_to(theirs.into(), ours);
    assert!(text == long_text() && is_ascii);
}

#[test]
fn a_long_answer_ends_with_its_reader() {
    let ws = Workspace::new().file("long.txt", long_text().repeat(3));
    let path = format!("absolute_path={}", ws.path("long.txt"));
    let (socket, socket_in) = UnixStream::pair().expect("a pair of sockets");
    let (pipe, pipe_in) = std::io::pipe().expect("a pipe");
    let ends: [(Box<dyn Read>, OwnedFd); 2] = [
        (Box::new(socket), socket_in.into()),
        (Box::new(pipe), pipe_in.into()),
    ];
    for (mut ours, theirs) in ends {
        let mut command = ws.tool("read_file").flags(&[&path]).command();
        command.stdin(Stdio::null()).stdout(theirs);
        let mut child = command.spawn().expect("call_tool");
        drop(command);
        let mut start = [0; 100];
        ours.read_exact(&mut start).expect("the first piece");
        drop(ours);
        // A pipe without a reader ends its writer by a signal.
        let status = child.wait().expect("our child");
        assert!(status.success() || status.signal() == Some(Signal::PIPE.as_raw()));
    }
}

#[test]
fn long_answer_is_written_at_once() {
    let text = lines(1900, |n| {
        format!("{n}: some forty characters of text and more\n")
    });
    let ws = Workspace::new().file("long.txt", &text);
    let path = format!("absolute_path={}", ws.path("long.txt"));
    // A datagram socket keeps the edges of every single write.
    let (ours, theirs) = UnixDatagram::pair().expect("a pair of sockets");
    ours.set_read_timeout(Some(Duration::from_millis(20)))
        .expect("a time limit");
    let mut command = ws.tool("read_file").flags(&[&path]).command();
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command.stdout(OwnedFd::from(theirs));
    let mut child = command.spawn().expect("call_tool");
    drop(command);
    let mut writes = Vec::new();
    let mut buffer = vec![0; 1 << 20];
    let mut ended = false;
    loop {
        match ours.recv(&mut buffer) {
            Ok(bytes) => writes.push(buffer[..bytes].to_vec()),
            Err(_) if ended => break,
            Err(e) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&e.kind()) => {
                ended = child.try_wait().expect("our child").is_some();
            }
            Err(_) => ended = true,
        }
    }
    child.wait().expect("our child");
    let sizes: Vec<usize> = writes.iter().map(Vec::len).collect();
    assert_eq!(sizes.len(), 1, "sizes of the writes: {sizes:?}");
    let document: Value = serde_json::from_slice(&writes[0]).expect("one document");
    assert_eq!(
        document["functionResponse"]["response"]["output"],
        text.as_str()
    );
}

#[test]
fn reads_a_megabyte_of_input_in_every_case() {
    let ws = hello();
    let noise = vec![b'x'; 1 << 20];
    // The harness fails when the input is not taken to its end.
    ws.tool("read_file")
        .input(noise.clone())
        .run()
        .error("invalid_tool_params", 2);
    let unknown_tool = ws.tool("no_such_tool").input(noise.clone()).run();
    assert_eq!(unknown_tool.status(), 2);
    let without_name = ws.call_tool(&[]).input(noise.clone()).run();
    assert_eq!(without_name.status(), 2);
    let unknown_flag = ws
        .tool("read_file")
        .flags(&["--no-such-flag"])
        .input(noise)
        .run();
    assert_eq!(unknown_flag.status(), 2);
}

#[test]
fn help_has_examples() {
    let answer = Workspace::new().call_tool(&["--help"]).run();
    assert_eq!(answer.status(), 0);
    answer.must_say(
        answer.text(),
        &["call_tool", "--output", "--explain", "file_path="],
    );
}

#[test]
fn reader_that_leaves_early_ends_us_quietly() {
    let ws = Workspace::new().file("long.txt", long_text());
    let arguments = json!({"absolute_path": ws.path("long.txt")});
    let call = ws.tool("read_file").arguments(&arguments);
    let answer = call
        .in_bash(r#""$@" 2>errors | head -c 1 >/dev/null; cat errors; rm errors"#)
        .run();
    assert_eq!(answer.text(), "");
    assert_eq!(answer.status(), 0);
}

#[test]
fn interrupted_while_it_waits_for_its_arguments_says_so() {
    for (signal, status) in [("TERM", 143), ("INT", 130)] {
        let ws = Workspace::new();
        let running = ws.tool("read_file").input_held_open().start();
        std::thread::sleep(Duration::from_millis(150));
        let kill = format!("kill -{signal} {}", running.id());
        let sent = std::process::Command::new("bash")
            .args(["-c", &kill])
            .status();
        assert!(sent.expect("bash").success());
        running.finish().error("cancelled", status);
    }
}

#[test]
fn too_much_text_is_cut_with_a_way_to_the_rest() {
    let ws = Workspace::new();
    let text = lines(1900, |n| {
        format!("match number {n} in a line of some length\n")
    });
    let ws = ws.file("many.txt", text);
    let answer = ws.call("search_file_content", &json!({"pattern": "match number"}));
    let output = answer.output();
    assert!(
        output.chars().count() < 42_000,
        "{} characters",
        output.chars().count()
    );
    answer.must_say(&output, &["1900"]);
    let named = output.split(|c: char| c.is_whitespace() || "'\"`()<>[],".contains(c));
    let saved = named
        .map(|word| word.trim_end_matches(['.', ':', ';']))
        .find(|word| word.contains("/.gemini/tmp/"));
    let Some(saved) = saved else {
        answer.fail("no file is named that holds the whole");
    };
    let whole = std::fs::read_to_string(saved).expect("the file that holds the whole");
    assert!(whole.contains("match number 1899"), "{saved} is not whole");
    let read = ws.call(
        "read_file",
        &json!({"absolute_path": saved, "offset": 1850}),
    );
    read.must_say(&read.output(), &["match number 1899"]);
}

/// Writes a file of a host, and returns its path.
fn keep(ws: &Workspace, path: &str, text: &str) -> PathBuf {
    let path = ws.root().join("home").join(path);
    fs::create_dir_all(path.parent().expect("a directory")).expect("made");
    fs::write(&path, text).expect("written");
    path
}

#[test]
fn answers_that_a_host_has_kept_can_be_read_and_nothing_beside_them() {
    let ws = Workspace::new();
    let root = ws.path("");
    let root = root.trim_end_matches('/');
    let hash = gemini_tools::text::hex(&sha2::Sha256::digest(root));
    let dashes = root.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    keep(&ws, ".gemini/tmp/ws/.project_root", &format!("{root}\n"));
    keep(&ws, ".gemini/tmp/other/.project_root", "/another");
    let read = |path: &Path| ws.call("read_file", &json!({"absolute_path": path}));
    for (kept, others) in [
        (
            format!(".qwen/tmp/{hash}/tool-results/call_7_0.txt"),
            [
                format!(".qwen/tmp/{hash}/chats/session.json"),
                ".qwen/tmp/another/tool-results/call_7_0.txt".to_owned(),
                format!(".qwen/tmp/{hash}/tool-results/../chats/session.json"),
            ],
        ),
        (
            ".gemini/tmp/ws/tool-outputs/session-1/x.txt".to_owned(),
            [
                ".gemini/tmp/ws/chats/session.json".to_owned(),
                ".gemini/tmp/other/tool-outputs/session-1/x.txt".to_owned(),
                ".gemini/tmp/ws/.project_root".to_owned(),
            ],
        ),
        (
            format!(".claude/projects/{dashes}/1-2-3/tool-results/toolu_1.txt"),
            [
                format!(".claude/projects/{dashes}/1-2-3.jsonl"),
                ".claude/projects/-another/1-2-3/tool-results/toolu_1.txt".to_owned(),
                format!(".claude/projects/{dashes}/1-2-3/subagents/agent.jsonl"),
            ],
        ),
    ] {
        let kept = keep(&ws, &kept, "kept\n");
        assert_eq!(read(&kept).output(), "kept\n");
        for other in others {
            let other = keep(&ws, &other, "secret\n");
            read(&other).error("path_not_in_workspace", 1);
        }
        let link = kept.with_file_name("link.txt");
        std::os::unix::fs::symlink("/etc/passwd", &link).expect("a link");
        read(&link).error("path_not_in_workspace", 1);
        let edit = json!({"file_path": kept, "content": "changed"});
        ws.call("write_file", &edit)
            .error("path_not_in_workspace", 1);
    }
}

#[test]
fn limit_of_the_text_comes_from_the_settings() {
    let ws = Workspace::new().file(
        ".gemini/settings.json",
        r#"{"tools": {"truncateToolOutputThreshold": 2000}}"#,
    );
    let ws = (0..300).fold(ws, |ws, n| {
        ws.file(format!("d/a-name-of-some-length-{n}.txt"), "")
    });
    let answer = ws.call("list_directory", &json!({"path": ws.path("d")}));
    let output = answer.output();
    assert!(
        output.chars().count() < 3000,
        "{} characters",
        output.chars().count()
    );
}

#[test]
fn without_a_home_nothing_is_kept_of_a_long_answer() {
    let ws = Workspace::new().file("a.txt", "hit\n".repeat(20_000));
    for home in ["", "/dev/null"] {
        let arguments = json!({ "pattern": "hit" });
        let answer = ws
            .tool("search_file_content")
            .arguments(&arguments)
            .env("HOME", home)
            .run();
        assert!(answer.output().contains("Truncated"));
    }
}

#[test]
fn what_is_kept_of_all_calls_has_a_limit_and_the_oldest_goes_first() {
    // No process has this id, and no file takes what its length says.
    let dead = 2_147_483_646;
    let kept = |hours: u64, pid: u32| format!("tool-outputs/read_file-{hours}-000000001-{pid}.txt");
    let ws = Workspace::new().file("long.txt", lines(20_000, |i| format!("line {i}\n")));
    let tmp = ws.root().join("home/.gemini/tmp");
    let add = |project: &str, name: &str, hours: u64| {
        let path = tmp.join(project).join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        let file = fs::File::create(&path).expect("a file");
        file.set_len(256 << 20).expect("its length");
        set_age(&path, hours * 3600);
        path
    };
    let mut ours: Vec<_> = (1..6)
        .map(|hours| add("one", &kept(hours, dead), hours))
        .collect();
    ours.push(add("two", &kept(6, dead), 6));
    let living = add("two", &kept(7, std::process::id()), 7);
    let foreign = [
        add("two", "tool-outputs/notes-of-a-person.txt", 8),
        add("two", "chats/session.json", 8),
    ];
    let answer = ws
        .tool("search_file_content")
        .arguments(&json!({"pattern": "line"}));
    let said = answer.unwatched().run().output();
    assert!(said.contains("The whole answer is in "), "{said}");
    let stays: Vec<_> = ours.iter().map(|path| path.exists()).collect();
    // With room for one as large as any, 768 MiB are left: for the living one and two others.
    assert_eq!(stays, [true, true, false, false, false, false]);
    assert!(living.exists() && foreign.iter().all(|path| path.exists()));
}

#[test]
fn nothing_of_ours_stays_of_a_project_that_is_gone() {
    let ws = Workspace::new().file("long.txt", lines(20_000, |i| format!("line {i}\n")));
    let tmp = ws.root().join("home/.gemini/tmp");
    let dead = "tool-outputs/read_file-1-000000001-2147483646.txt";
    let of_tools = ["tools-of-user", "tools-of-project", "tool-pair-0123-x.toml"];
    let ours = [&of_tools[..], &["background-processes/1-1.log", dead]].concat();
    let foreign = ["chats/session.json", "logs.json", "tool-outputs/notes.txt"];
    let add = |project: &str, name: &str, days: u64| {
        let path = tmp.join(project).join(name);
        write(&path, b"x");
        set_age(&path, days * 24 * 3600);
    };
    for (name, days) in ours.iter().flat_map(|name| [(name, 6), (name, 8)]) {
        add(&format!("{days} {}", name.replace('/', " ")), name, days);
        add(&format!("all {days}"), name, days);
    }
    for name in foreign {
        add("shared", name, 30);
    }
    add("shared", ours[0], 30);
    let call = ws.tool("search_file_content");
    let call = call.arguments(&json!({"pattern": "line"})).unwatched();
    assert!(call.run().output().contains("The whole answer is in "));
    let left = fs::read_dir(&tmp).expect("it").flatten();
    let left = left.map(|entry| entry.file_name().into_string().expect("UTF-8"));
    let (young, old): (Vec<_>, Vec<_>) =
        left.partition(|name| name.starts_with("6 ") || name == "all 6");
    assert_eq!(young.len(), ours.len() + 1, "{young:?}");
    // Next to what Gemini CLI keeps, only this project's own.
    assert_eq!(old.len(), 2, "{old:?}");
    assert!(
        foreign
            .iter()
            .all(|name| tmp.join("shared").join(name).exists())
    );
    assert!(!tmp.join("shared").join(ours[0]).exists());
}
