//! Arguments are checked against any schema, and what is wrong with them is said.
#![no_main]

use gemini_tools::tool::Schema;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|input: &[u8]| {
    // A schema and arguments.
    let mut documents = serde_json::Deserializer::from_slice(input).into_iter::<Value>();
    let (Some(Ok(schema)), Some(Ok(args))) = (documents.next(), documents.next()) else {
        return;
    };
    if let Err(e) = Schema::from_value(schema).validate(&args) {
        assert!(!e.message.is_empty());
    }
});
