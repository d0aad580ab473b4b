//! Public addresses: not private, loopback, link-local, reserved or multicast, and not a cloud's
//! metadata service.
//!
//! Follows the special-purpose registries of IANA (RFC 6890 and its successors). In IPv6 only
//! global unicast addresses are public, and IPv4-mapped and NAT64 ones are judged by their IPv4
//! address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::Host;

const BLOCKS_V4: &[(Ipv4Addr, u8, &str)] = &[
    (Ipv4Addr::UNSPECIFIED, 8, "of this network"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "shared by a carrier"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    // Azure's metadata and host service, on an address that looks public.
    (Ipv4Addr::new(168, 63, 129, 16), 32, "a metadata service"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "for documentation"),
    (Ipv4Addr::new(192, 31, 196, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 52, 193, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(192, 175, 48, 0), 24, "reserved"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "for benchmarks"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "for documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "for documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

const BLOCKS_V6: &[(u128, u8, &str)] = &[
    // Teredo, ORCHID, benchmarks, anycast of protocols.
    (0x2001_0000 << 96, 23, "reserved"),
    (0x2001_0db8 << 96, 32, "for documentation"),
    (0x2002_0000 << 96, 16, "a tunnel to IPv4"),
    (0x3fff_0000 << 96, 20, "for documentation"),
];

/// Returns the addresses of a host that are known without asking a name server or a hosts file:
/// those of a literal address and of `localhost` (RFC 6761). `None` for other names.
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

/// Returns true if an address belongs to the public internet.
pub fn is_public(address: IpAddr) -> bool {
    why_not_public(address).is_none()
}

/// Returns the kind of an address that is not public, as an adjective or a noun, such as `private`;
/// `None` for a public one.
pub fn why_not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(v4) => why_not_v4(v4),
        IpAddr::V6(v6) => why_not_v6(v6),
    }
}

fn why_not_v4(address: Ipv4Addr) -> Option<&'static str> {
    let bits = address.to_bits();
    BLOCKS_V4
        .iter()
        .find(|(block, length, _)| (bits ^ block.to_bits()) >> (32 - length) == 0)
        .map(|(_, _, why)| *why)
}

fn why_not_v6(address: Ipv6Addr) -> Option<&'static str> {
    let bits = address.to_bits();
    let is_in = |block: u128, length: u8| (bits ^ block) >> (128 - length) == 0;
    if address.is_loopback() {
        return Some("loopback");
    }
    if let Some(v4) = address.to_ipv4_mapped() {
        return why_not_v4(v4);
    }
    // Networks without IPv4 use these addresses to reach IPv4 addresses (RFC 6052).
    if is_in(0x0064_ff9b << 96, 96) {
        return why_not_v4(Ipv4Addr::from_bits(bits as u32));
    }
    if address.is_multicast() {
        return Some("multicast");
    }
    if address.is_unicast_link_local() {
        return Some("link-local");
    }
    if address.is_unique_local() {
        return Some("private");
    }
    if !is_in(0x2000 << 112, 3) {
        return Some("reserved");
    }
    BLOCKS_V6
        .iter()
        .find(|(block, length, _)| is_in(*block, *length))
        .map(|(_, _, why)| *why)
}

#[cfg(test)]
mod tests;
