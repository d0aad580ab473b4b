//! From names to addresses, as the system's `resolv.conf` and `hosts` have it.
//!
//! `GEMINI_TOOLS_DNS` names other servers: addresses with or without a port, separated by
//! commas.

use super::NetError;
use gemini_tools_core::tool::{Cancellation, Interruption};
use gemini_tools_process::network::addresses::without_asking;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{NameServerConfig, ResolverConfig, ResolverOpts};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// Interval at which a wait checks for the end of the call.
const TICK: Duration = Duration::from_millis(50);

/// The addresses of a name, in the order in which they should be tried.
///
/// # Errors
///
/// Where there is no such name, no server to ask, or no answer in time.
pub(super) fn resolve(
    name: &str,
    limit: Duration,
    cancel: &Cancellation,
) -> Result<Vec<IpAddr>, NetError> {
    let failed = |why: String| NetError::Names {
        host: name.to_owned(),
        why,
    };
    if let Some(found) = without_asking(name) {
        return Ok(found);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| failed(e.to_string()))?;
    runtime.block_on(async {
        let resolver = resolver().map_err(&failed)?;
        let until = Instant::now() + limit;
        let lookup = resolver.lookup_ip(name);
        tokio::pin!(lookup);
        loop {
            if let Ok(answer) = tokio::time::timeout(TICK, &mut lookup).await {
                return match answer {
                    Ok(found) => Ok(found.iter().collect()),
                    Err(e) if e.is_nx_domain() || e.is_no_records_found() => {
                        Err(NetError::NoSuchName(name.to_owned()))
                    }
                    Err(e) => Err(failed(e.to_string())),
                };
            }
            interrupted(cancel)?;
            if Instant::now() >= until {
                return Err(failed(format!("no answer for {} s", limit.as_secs())));
            }
        }
    })
}

/// [`Cancellation::interruption`] as an error of the network.
pub(super) fn interrupted(cancel: &Cancellation) -> Result<(), NetError> {
    match cancel.interruption() {
        None => Ok(()),
        Some(Interruption::Cancelled(_)) => Err(NetError::Cancelled),
        Some(Interruption::TimedOut) => Err(NetError::OutOfTime),
    }
}

fn resolver() -> Result<TokioResolver, String> {
    let chosen = gemini_tools_core::variables::value("GEMINI_TOOLS_DNS").unwrap_or_default();
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
