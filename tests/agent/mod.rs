//! `run_agent`: the turns of a model, its end, its terminal and its report.

mod ci_example;
mod gemini_stream;
mod google_credentials;
mod model_script;
mod record;
mod replay_example;
mod report_in_browser;
mod run_agent;
mod run_agent_failures;
mod run_agent_foreign;
mod run_agent_kept;
mod run_agent_live;
mod run_agent_resume;
mod run_agent_terminal;
