//! A program that makes one call in a session of the current directory, for the tests: `session-call MODE NAME [ROOT]`,
//! where `MODE` is `host` if the host has asked, `asks` if a person is asked and agrees, `explains`, or `registry` for a
//! registry in place of the session, or a case of `cases`. It has tools of its own: `mark`, which makes the file `marked`, and `no_METHOD`,
//! whose METHOD panics. It prints the result, or the kind of the error and its message.

mod cases;

use gemini_tools_core::registry::{Source, ToolRegistry};
use gemini_tools_core::tool::{
    ApprovalMode, Args, Cancellation, Confirmation, ConfirmationDetails, Context, ErrorKind,
    FunctionTool, Kind, Location, OutputUpdate, Schema, Tool, ToolError, ToolInfo, ToolInvocation,
    ToolResult,
};
use gemini_tools_policy::approval::{ApprovalPrompt, ApprovalQuestion, ApprovalReply};
use gemini_tools_session::{CallOptions, PolicyOptions, Session, SharedPrompt};
use serde_json::{Value, json};
use std::env;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

const METHODS: [&str; 7] = [
    "no_parameters",
    "no_build",
    "no_confirmation",
    "no_describe",
    "no_locations",
    "no_run",
    "no_answer",
];

fn main() -> io::Result<()> {
    let said = match call() {
        Ok(text) => text,
        // The harness takes the name of this kind for a fault of the program.
        Err(e) if e.kind == ErrorKind::UnhandledException => format!("caught: {e}"),
        Err(e) => format!("{}: {e}", json!(e.kind)),
    };
    writeln!(io::stdout(), "{said}")
}

fn call() -> Result<String, ToolError> {
    let mut words = env::args().skip(1);
    let (mode, name) = (words.next(), words.next().unwrap_or_default());
    let root = match words.next() {
        Some(root) => Ok(PathBuf::from(root)),
        None => env::current_dir().and_then(|root| root.canonicalize()),
    };
    let root = root.map_err(|e| ToolError::failed(e.to_string()))?;
    if let Some(played) = cases::play(mode.as_deref().unwrap_or_default(), &root) {
        return played;
    }
    let mut cx = Context::default().with_live_output(|_| panic!("on purpose"));
    if mode.as_deref() == Some("registry") {
        let mut tools = ToolRegistry::default();
        for name in METHODS {
            tools.register(Faulty(name))?;
        }
        tools.add_source(Source::new(|| panic!("on purpose")));
        let result = tools.execute(&name, json!({}), &cx)?;
        return Ok(json!(result.llm_content).to_string());
    }
    let mut options = PolicyOptions::default();
    options.approval = match mode.as_deref() {
        Some("host") => None,
        Some("yolo") => Some(ApprovalMode::Yolo),
        _ => Some(ApprovalMode::Default),
    };
    let mut session = Session::open(&root, &[], &options)?.without_servers();
    session.add_tool(mark("mark"))?;
    for name in METHODS {
        session.add_tool(Faulty(name))?;
    }
    let taken = session.add_tool(mark("read_file"));
    if taken.is_ok() {
        return Err(ToolError::failed("A built-in tool was replaced."));
    }
    for schema in [
        json!("no"),
        json!({"type": "string"}),
        json!({"type": ["null"]}),
    ] {
        let schema = Schema::from_value(schema);
        let odd = FunctionTool::read_only("odd", "", schema, |(): (), _| Ok(ToolResult::text("")));
        if session.add_tool(odd).is_ok() {
            return Err(ToolError::failed("A schema of no objects was taken."));
        }
    }
    let person: SharedPrompt = SharedPrompt::new(Box::new(Person::default()));
    let mut options = CallOptions::default();
    options.is_explained = mode.as_deref() == Some("explains");
    options.person = matches!(mode.as_deref(), Some("asks" | "explains")).then_some(&person);
    let result = session.run(&name, json!({}), options, &mut cx).outcome?;
    Ok(json!(result.llm_content).to_string())
}

fn mark(name: &str) -> FunctionTool<Value> {
    let schema = Schema::from_value(json!({"type": "object"}));
    FunctionTool::changing(name, "Marks.", Kind::Edit, schema, |_, cx| {
        cx.update_output(OutputUpdate::Text("Marks.".to_owned()));
        std::fs::write("marked", "").map_err(|e| ToolError::failed(e.to_string()))?;
        Ok(ToolResult::text("Marked."))
    })
}

#[derive(Debug, Default)]
struct Person {
    cancels: Option<Cancellation>,
}

impl ApprovalPrompt for Person {
    fn ask(&mut self, question: &ApprovalQuestion<'_>) -> Option<ApprovalReply> {
        assert_ne!(question.name, "no_answer", "on purpose");
        let asked = std::fs::write("asked", "");
        assert!(asked.is_ok(), "the question is noted");
        if let Some(cancel) = &self.cancels {
            cancel.cancel();
            assert!(question.cancel.interruption().is_some(), "it is told");
        }
        Some(ApprovalReply::Once)
    }
}

/// A tool, and a call of it, of which one method panics.
#[derive(Clone, Copy)]
struct Faulty(&'static str);

impl Faulty {
    fn reach(self, method: &str) {
        assert_ne!(self.0, format!("no_{method}"), "on purpose");
    }
}

impl Tool for Faulty {
    fn name(&self) -> &str {
        self.0
    }

    fn description(&self) -> &'static str {
        "Panics."
    }

    fn parameters(&self) -> &Schema {
        static SCHEMA: Schema = Schema::from_static("{}");
        static REGISTERED: AtomicBool = AtomicBool::new(false);
        // A registry that takes a tool looks at its schema, too.
        if self.0 != "no_parameters" || REGISTERED.swap(true, Ordering::Relaxed) {
            self.reach("parameters");
        }
        &SCHEMA
    }

    fn info(&self) -> ToolInfo<'_> {
        ToolInfo::new(self.0, Kind::Other)
    }

    fn build(&self, _: Args, _: &Context) -> Result<Box<dyn ToolInvocation>, ToolError> {
        self.reach("build");
        Ok(Box::new(*self))
    }
}

impl ToolInvocation for Faulty {
    fn describe(&self) -> String {
        self.reach("describe");
        String::new()
    }

    fn locations(&self) -> Vec<Location> {
        self.reach("locations");
        Vec::new()
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        self.reach("confirmation");
        Ok(Confirmation::Ask(ConfirmationDetails::Info {
            title: String::new(),
            prompt: String::new(),
            urls: Vec::new(),
        }))
    }

    fn run(self: Box<Self>, _: &Context) -> Result<ToolResult, ToolError> {
        self.reach("run");
        Ok(ToolResult::text("Done."))
    }
}
