//! `get_tools lint`: what is wrong with the tools of the user and of the project, and what was
//! repaired.

use crate::list::surroundings;
use crate::print::{complain, print};
use gemini_tools::custom::{self, Custom};
use gemini_tools::settings::{Settings, home};
use gemini_tools::shown::visible;

/// Prints a line for each finding. Exits with 1 where a tool is left out.
pub(crate) fn run(json: bool) -> u8 {
    let root = std::env::current_dir().unwrap_or_default();
    let home = home();
    let settings = Settings::load(home.as_deref(), &root);
    let custom = Custom::open(home.as_deref(), &root, &settings.trust);
    let lint = match custom::lint(&custom, || surroundings(&settings)) {
        Ok(lint) => lint,
        Err(e) => {
            complain(&format!("get_tools: {e}"));
            return 1;
        }
    };
    let mut text = String::new();
    for finding in &lint.findings {
        if json {
            text.push_str(&serde_json::to_string(finding).unwrap_or_default());
        } else {
            text.push_str(&visible(&finding.to_string()));
        }
        text.push('\n');
    }
    if !json {
        text.push_str(&lint.summary());
        text.push('\n');
    }
    match print(text.as_bytes()) {
        0 => u8::from(lint.has_errors()),
        status => status,
    }
}
