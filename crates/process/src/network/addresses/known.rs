//! Addresses that are known without asking a name server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::Host;

/// Returns the addresses of a host, if they are known without asking a server or a hosts file:
/// `localhost` never is asked for (RFC 6761).
pub fn known_addresses(host: &Host<&str>) -> Option<Vec<IpAddr>> {
    match host {
        Host::Ipv4(v4) => Some(vec![(*v4).into()]),
        Host::Ipv6(v6) => Some(vec![(*v6).into()]),
        Host::Domain(name) => {
            let bare = name.trim_end_matches('.');
            let is_localhost = bare == "localhost" || bare.ends_with(".localhost");
            is_localhost.then(|| vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
        }
    }
}
