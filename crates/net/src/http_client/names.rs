//! Resolves names as `/etc/resolv.conf` and `/etc/hosts` say.
//!
//! `GEMINI_TOOLS_DNS` overrides the name servers: addresses with or without a port, separated by
//! commas.

use super::NetError;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{NameServerConfig, ResolverConfig, ResolverOpts};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

pub(super) async fn resolve(name: &str, limit: Duration) -> Result<Vec<IpAddr>, NetError> {
    let failed = |why: String| NetError::Names {
        host: name.to_owned(),
        why,
    };
    let resolver = resolver().map_err(failed)?;
    match tokio::time::timeout(limit, resolver.lookup_ip(name)).await {
        Ok(Ok(found)) => Ok(found.iter().collect()),
        Ok(Err(e)) if e.is_nx_domain() || e.is_no_records_found() => {
            Err(NetError::NoSuchName(name.to_owned()))
        }
        Ok(Err(e)) => Err(failed(e.to_string())),
        Err(_) => Err(failed(format!("no answer for {} s", limit.as_secs()))),
    }
}

fn resolver() -> Result<TokioResolver, String> {
    let chosen = gemini_tools_environment::variables::value("GEMINI_TOOLS_DNS").unwrap_or_default();
    let chosen = chosen.to_string_lossy();
    if chosen.trim().is_empty() {
        return TokioResolver::builder_tokio()
            .and_then(hickory_resolver::ResolverBuilder::build)
            .map_err(|e| format!("/etc/resolv.conf: {e}"));
    }
    let servers = chosen
        .split(',')
        .map(|text| server(text.trim()))
        .collect::<Option<Vec<_>>>()
        .ok_or("GEMINI_TOOLS_DNS must hold addresses, with or without a port")?;
    let config = ResolverConfig::from_name_servers(servers);
    let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
    *builder.options_mut() = ResolverOpts::default();
    builder.build().map_err(|e| e.to_string())
}

fn server(text: &str) -> Option<NameServerConfig> {
    let (address, port) = match text.parse::<SocketAddr>() {
        Ok(socket) => (socket.ip(), socket.port()),
        Err(_) => (text.parse().ok()?, 53),
    };
    let mut server = NameServerConfig::udp_and_tcp(address);
    for connection in &mut server.connections {
        connection.port = port;
    }
    Some(server)
}
