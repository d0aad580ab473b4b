//! A loop around a Gemini model with the built-in tools that only read, so that nothing has to be asked:
//! `cargo run --example model_loop`. The module `session` makes calls under the user's rules.

#![expect(clippy::print_stdout, reason = "a program prints its answer")]

use gemini_tools::ToolRegistry;
use gemini_tools::builtin::{self, ToolEnv};
use gemini_tools::genai::{Content, GeminiClient, GenerateContentRequest, Part, RequestTool};
use gemini_tools::tool::Context;
use gemini_tools::workspace::Workspace;
use serde_json::json;
use std::{error::Error, sync::Arc};

fn main() -> Result<(), Box<dyn Error>> {
    let home = std::env::home_dir();
    let workspace = Arc::new(Workspace::open(&[], home.as_deref())?);
    let mut registry = ToolRegistry::default();
    builtin::register(&mut registry, &ToolEnv::new(workspace))?;
    registry.retain(|tool| tool.info().is_read_only);

    let mut client = GeminiClient::from_environment(home.as_deref())?.ok_or("no credential")?;
    let mut request = GenerateContentRequest {
        contents: vec![Content::user("What does this project do?")],
        tools: vec![RequestTool::FunctionDeclarations(registry.declarations())],
        ..GenerateContentRequest::default()
    };
    let cx = Context::default();
    loop {
        let answer = client.generate("gemini-2.5-flash", &request, &cx.cancel, &mut |_| {})?;
        let calls = answer
            .parts()
            .iter()
            .filter_map(|part| part.function_call.clone());
        let responses: Vec<Part> = calls
            .map(|call| {
                let response = match registry.execute(&call.name, call.args.into(), &cx) {
                    Ok(result) => json!({"output": result.llm_content}),
                    Err(e) => json!({"error": e.to_string()}),
                };
                Part::function_response(call.id.as_deref(), &call.name, response)
            })
            .collect();
        if responses.is_empty() {
            println!("{}", answer.text());
            return Ok(());
        }
        request
            .contents
            .push(Content::new("model", answer.parts().to_vec()));
        request.contents.push(Content::new("user", responses));
    }
}
