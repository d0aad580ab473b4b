//! Which network addresses a client may reach. A model could otherwise be made to fetch the pages
//! of an intranet or of a cloud's metadata service.

use super::why_not_public;
use ipnet::IpNet;
use std::net::IpAddr;

/// The hosts and addresses that a client may reach.
#[derive(Debug, Clone)]
pub enum AddressPolicy {
    /// Any host: the address comes from the user.
    Any,
    /// Public addresses, and hosts that the user has allowed. This is for addresses that come from
    /// a model or a page.
    Public {
        /// Rules of the user that allow a host.
        allowed: Vec<HostRule>,
    },
}

fn not_public(host: &str, address: IpAddr) -> String {
    let why = why_not_public(address).unwrap_or("reserved");
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    // If the host is an address itself, the message does not repeat it.
    if literal.parse() == Ok(address) {
        format!("{host} is {why}")
    } else {
        format!("{host} is {address}, which is {why}")
    }
}

/// Advice for a message about a refused address.
pub const ALLOWING: &str =
    "The user can allow a host in tools.webFetch.allowedHosts of ~/.gemini/settings.json.";

/// Returns the message for a call that may reach none of its addresses. `reasons` has one for each.
pub fn refusal(reasons: &[String]) -> String {
    let reasons = reasons.join("; ");
    format!("Only public addresses are fetched: {reasons}. {ALLOWING}")
}

/// A host that the user has allowed: `intranet.example`, `*.corp.example`, `10.1.2.3`,
/// `10.0.0.0/8`, `[::1]`, or `*` for all hosts. Each may end in a port, as in `10.1.2.3:8080`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    host: RuleHost,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum RuleHost {
    Everything,
    Name(String),
    Below(String),
    Network(IpNet),
}

impl HostRule {
    /// Parses one rule. Returns `None` if it is not valid.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        if let Some(host) = network(&text) {
            return Some(Self { host, port: None });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().ok()?)),
            None => (&*text, None),
        };
        let host = match host {
            "" => return None,
            "*" => RuleHost::Everything,
            _ if host.starts_with("*.") => RuleHost::Below(format!(".{}", url_name(&host[2..])?)),
            _ => match network(host) {
                Some(network) => network,
                None => RuleHost::Name(url_name(host)?),
            },
        };
        Some(Self { host, port })
    }

    /// Returns true if the rule covers this host, by its name or its address, and this port.
    pub fn covers(&self, host: &str, address: IpAddr, port: u16) -> bool {
        if self.port.is_some_and(|own| own != port) {
            return false;
        }
        let host = host.trim_end_matches('.');
        match &self.host {
            RuleHost::Everything => true,
            RuleHost::Name(name) => name == host,
            RuleHost::Below(end) => host.ends_with(&**end),
            RuleHost::Network(network) => network.contains(&address.to_canonical()),
        }
    }
}

fn network(text: &str) -> Option<RuleHost> {
    let bare = text
        .strip_prefix('[')
        .and_then(|t| t.strip_suffix(']'))
        .unwrap_or(text);
    let network = bare
        .parse::<IpNet>()
        .or_else(|_| bare.parse::<IpAddr>().map(IpNet::from))
        .ok()?;
    Some(RuleHost::Network(network))
}

fn url_name(name: &str) -> Option<String> {
    match url::Host::parse(name).ok()? {
        url::Host::Domain(name) => Some(name.trim_end_matches('.').to_owned()),
        _ => None,
    }
}

impl AddressPolicy {
    /// Returns true if this host may be reached at any address, so that a proxy may resolve the
    /// name.
    pub fn trusts(&self, host: &str, port: u16) -> bool {
        match self {
            AddressPolicy::Any => true,
            AddressPolicy::Public { allowed } => {
                let nowhere = IpAddr::from([0, 0, 0, 0]);
                allowed.iter().any(|rule| {
                    !matches!(rule.host, RuleHost::Network(_)) && rule.covers(host, nowhere, port)
                })
            }
        }
    }

    /// Returns those of the addresses of a host that may be reached.
    ///
    /// # Errors
    ///
    /// If none of them may be reached, returns the reason for the first.
    pub fn filter_allowed(
        &self,
        host: &str,
        port: u16,
        addresses: Vec<IpAddr>,
    ) -> Result<Vec<IpAddr>, String> {
        let AddressPolicy::Public { allowed } = self else {
            return Ok(addresses);
        };
        let may = |address: &IpAddr| {
            why_not_public(*address).is_none()
                || allowed.iter().any(|rule| rule.covers(host, *address, port))
        };
        let kept: Vec<IpAddr> = addresses.iter().copied().filter(may).collect();
        match (kept.is_empty(), addresses.first()) {
            (true, Some(address)) => Err(not_public(host, *address)),
            _ => Ok(kept),
        }
    }
}

#[cfg(test)]
mod tests;
