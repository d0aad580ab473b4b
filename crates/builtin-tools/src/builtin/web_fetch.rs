//! `web_fetch`: reads the web pages that a prompt names, and does with them what the prompt asks.
//!
//! This module has the arguments, and decides which addresses may be requested; `gemini-tools-net`
//! fetches the pages and has a model read them.

use super::{BuiltinTool, ToolEnv};
use gemini_tools_core::text::{counted, excerpt, one_line};
use gemini_tools_core::tool::{
    Confirmation, ConfirmationDetails, Context, ErrorKind, Kind, Limit, ToolError, ToolInfo,
    ToolInvocation, ToolResult, Usage,
};
use gemini_tools_environment::variables::{self, Variable};
use gemini_tools_process::network::addresses::{
    AddressPolicy, HostRule, find, known_addresses, refusal, target,
};
use gemini_tools_process::network::wire::{FetchTask, WebTask};
use gemini_tools_settings::settings::Settings;
use serde::Deserialize;
use url::Url;

const MAX_ADDRESSES: usize = 20;

const SHOWN_CHARS: usize = 100;

const ALLOW_VARIABLE: &str = "GEMINI_TOOLS_FETCH_ALLOW";

/// Limits that `gemini-tools-net` enforces: how many pages are fetched at the same time, and how
/// many bytes and characters all pages together may have.
pub(super) const PAGES_AT_ONCE: u64 = 4;
pub(super) const PAGES_BYTES: u64 = 12 * 1024 * 1024;
pub(super) const PAGES_CHARS: usize = 400_000;

pub(super) static TOOL: BuiltinTool = BuiltinTool {
    name: "web_fetch",
    summary: "Reads web pages and does what a prompt asks",
    description: "Reads up to 20 web pages whose addresses are in 'prompt' and does with them \
        what the prompt asks: answer, summarize, extract. Pages, plain text, JSON, XML, PDF \
        documents and images. Addresses in the private network are refused unless the user has \
        allowed their host. Use google_web_search where no address is known.",
    info: ToolInfo::new("WebFetch", Kind::Fetch).with_aliases(&["WebFetchTool"]),
    usage: Usage {
        renamed: &[("url", "prompt")],
        limits: &[
            Limit::Count(MAX_ADDRESSES as u64).of("addresses"),
            Limit::Count(PAGES_AT_ONCE).of("pages at the same time"),
            Limit::Bytes(PAGES_BYTES).of("bytes of all pages"),
            Limit::Characters(PAGES_CHARS).of("the text of pages for a model"),
        ],
        examples: &[
            "call_tool web_fetch https://www.rust-lang.org/",
            "call_tool web_fetch prompt='Summarise https://www.rust-lang.org/'",
        ],
        errors: &[
            ErrorKind::WebFetchNoUrlInPrompt.when("`prompt` has no URL"),
            ErrorKind::PolicyViolation.when(
                "a URL leads to an address that is not public, and the user has not allowed its \
                 host",
            ),
            ErrorKind::InvalidToolParams.when("`prompt` has too many URLs"),
        ],
        ..Usage::NONE
    },
};

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Params {
    /// The addresses (http or https) and what to do with the pages, for example "Summarize
    /// <https://example.com/article>".
    prompt: String,
}

/// A call of the tool. `separated` is the prompt for the model: its addresses are set apart from
/// the text around them, so that the model finds the same addresses in it as this tool.
pub(super) struct Call {
    tool_env: ToolEnv,
    allowed: Vec<String>,
    policy: AddressPolicy,
    prompt: String,
    separated: String,
    urls: Vec<Url>,
    unusable: Vec<(String, String)>,
}

pub(super) fn build(params: Params, tool_env: &ToolEnv) -> Result<Call, ToolError> {
    let found = find(&params.prompt);
    let why = |(address, why): &(String, String)| format!("{address}: {why}");
    if found.usable.is_empty() {
        let message = match found.unusable.as_slice() {
            [] => "The prompt has no URL.".to_owned(),
            all => format!(
                "The prompt has no URL that can be fetched: {}.",
                all.iter().map(why).collect::<Vec<_>>().join("; ")
            ),
        };
        let hint = if found.unusable.is_empty() {
            "Put a whole URL into the prompt; it begins with http:// or https://."
        } else {
            "Name an http or https address with a host and without a password."
        };
        return Err(ToolError::new(ErrorKind::WebFetchNoUrlInPrompt, message).with_hint(hint));
    }
    if found.usable.len() > MAX_ADDRESSES {
        return Err(ToolError::invalid(format!(
            "\"prompt\" names {} addresses; at most {MAX_ADDRESSES} are read in one call.",
            found.usable.len()
        ))
        .with_hint("Make several calls."));
    }
    let (allowed, policy) = address_policy(&tool_env.settings)?;
    Ok(Call {
        tool_env: tool_env.clone(),
        allowed,
        policy,
        prompt: params.prompt,
        separated: found.separated,
        urls: found.usable,
        unusable: found.unusable,
    })
}

/// Returns the rules for the hosts that the user has allowed, in the settings or by
/// `ALLOW_VARIABLE`, and the policy made of them. The policy also allows all public addresses.
fn address_policy(settings: &Settings) -> Result<(Vec<String>, AddressPolicy), ToolError> {
    let listed = |variable: Variable| -> Vec<String> {
        let text = variable.text();
        let hosts = text.split(',').map(|host| host.trim().to_owned());
        hosts.filter(|host| !host.is_empty()).collect()
    };
    // The variable has two names. If both are set, a host must be in both lists.
    let mut lists = variables::values(ALLOW_VARIABLE).into_iter().map(listed);
    let mut hosts = lists.next().unwrap_or_default();
    for others in lists {
        hosts.retain(|host| others.contains(host));
    }
    let by_variable = hosts.iter().map(|text| (ALLOW_VARIABLE, text));
    let by_settings = settings.fetch_hosts.iter();
    let by_settings = by_settings.map(|text| ("tools.webFetch.allowedHosts", text));
    let rules = by_settings.chain(by_variable).map(|(source, text)| {
        let rule = HostRule::parse(text).ok_or_else(|| {
            ToolError::denied(format!(
                "{source} holds {text:?}, which is not a host; nothing was fetched."
            ))
            .with_hint("A rule is a name, *.name, an address or a network, with or without a port.")
        })?;
        Ok((text.clone(), rule))
    });
    let (texts, allowed) = rules.collect::<Result<_, ToolError>>()?;
    Ok((texts, AddressPolicy::Public { allowed }))
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        let line = one_line(&self.prompt);
        let pages = counted(self.urls.len(), "page");
        format!("Reads {pages}: \"{}\"", excerpt(&line, SHOWN_CHARS))
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        let forbidden: Option<Vec<String>> =
            self.urls.iter().map(|u| self.refusal_reason(u)).collect();
        if let Some(reasons) = forbidden {
            return Ok(Confirmation::Forbidden(refusal(&reasons)));
        }
        let urls = self.urls.iter().map(|url| target(url).to_string());
        Ok(Confirmation::Ask(ConfirmationDetails::Info {
            title: "Confirm Web Fetch".to_owned(),
            prompt: self.prompt.clone(),
            urls: urls.collect(),
        }))
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        let task = WebTask::Fetch(FetchTask {
            prompt: self.separated,
            urls: self.urls.iter().map(Url::to_string).collect(),
            unusable: self.unusable,
            allowed: self.allowed,
        });
        self.tool_env.ask_network(&task, cx)?.into_result()
    }
}

impl Call {
    fn refusal_reason(&self, url: &Url) -> Option<String> {
        // No name server is asked before the user allows the call, so only hosts that are given as
        // IP addresses can be refused here.
        let known = known_addresses(&url.host()?)?;
        let host = url.host_str()?.trim_matches(['[', ']']);
        let port = url.port_or_known_default()?;
        self.policy.filter_allowed(host, port, known).err()
    }
}
