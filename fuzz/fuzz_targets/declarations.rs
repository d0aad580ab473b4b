//! What was repaired of declarations needs no more repairs.
#![no_main]

use gemini_tools::declaration::{Names, read};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|input: &[u8]| {
    let Ok(outcome) = read(input, &mut Names::new(Names::LONGEST)) else {
        return;
    };
    let declared = |tools: &[gemini_tools::declaration::ToolDeclaration]| -> Vec<Value> {
        let one = |tool: &gemini_tools::declaration::ToolDeclaration| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "parametersJsonSchema": tool.schema,
            })
        };
        tools.iter().map(one).collect()
    };
    let printed = declared(&outcome.tools);
    let text = Value::from(printed.clone()).to_string();
    let again = read(text.as_bytes(), &mut Names::new(Names::LONGEST)).expect("an array");
    assert_eq!(declared(&again.tools), printed, "{:?}", again.findings);
});
