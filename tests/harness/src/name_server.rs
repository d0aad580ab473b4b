//! A name server on loopback, for `GEMINI_TOOLS_DNS`: it answers by a closure, which gets how often the name was asked
//! for already, so that a name can move between two questions.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The variable with the address of the name server that is asked.
pub const DNS: &str = "GEMINI_TOOLS_DNS";

const A: u16 = 1;
const CNAME: u16 = 5;
const AAAA: u16 = 28;

/// How often a server without questions looks whether it is still wanted.
const TICK: Duration = Duration::from_millis(20);

/// What a name is.
#[derive(Debug, Clone)]
pub enum Found {
    /// These addresses; those of the version that was asked for are told.
    Addresses(Vec<IpAddr>),
    /// Another name, with the addresses of that one.
    Alias(&'static str, Vec<IpAddr>),
    /// There is no such name.
    Nothing,
    /// No answer at all.
    Silence,
}

impl Found {
    /// Reads addresses from text.
    pub fn at(addresses: &[&str]) -> Self {
        Found::Addresses(parsed(addresses))
    }

    pub fn alias(name: &'static str, addresses: &[&str]) -> Self {
        Found::Alias(name, parsed(addresses))
    }
}

fn parsed(addresses: &[&str]) -> Vec<IpAddr> {
    let parse = |text: &&str| text.parse().expect("an address");
    addresses.iter().map(parse).collect()
}

/// See the module's documentation.
pub struct NameServer {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    is_over: Arc<AtomicBool>,
}

impl NameServer {
    /// `answer` gets a name in lower case, without the last dot, and how often its addresses of one version were
    /// asked for before.
    pub fn new(answer: impl Fn(&str, usize) -> Found + Send + 'static) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port of loopback");
        socket.set_read_timeout(Some(TICK)).expect("a time limit");
        let address = socket.local_addr().expect("its address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let is_over = Arc::new(AtomicBool::new(false));
        let (own_asked, own_is_over) = (Arc::clone(&asked), Arc::clone(&is_over));
        thread::spawn(move || {
            let mut counts: HashMap<(String, u16), usize> = HashMap::new();
            let mut buffer = [0; 4096];
            while !own_is_over.load(Ordering::SeqCst) {
                let Ok((size, client)) = socket.recv_from(&mut buffer) else {
                    continue;
                };
                let Some(question) = Question::read(&buffer[..size]) else {
                    continue;
                };
                let count = counts
                    .entry((question.name.clone(), question.kind))
                    .or_default();
                let found = answer(&question.name, *count);
                *count += 1;
                if question.kind == A {
                    let mut asked = own_asked.lock().unwrap_or_else(PoisonError::into_inner);
                    asked.push(question.name.clone());
                }
                if let Some(reply) = question.reply(&found) {
                    drop(socket.send_to(&reply, client));
                }
            }
        });
        Self {
            address,
            asked,
            is_over,
        }
    }

    /// The value for `GEMINI_TOOLS_DNS`.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// The names whose addresses of version 4 were asked for, in order.
    pub fn asked(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.clone()
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
    }
}

/// A query with one question (RFC 1035, section 4).
struct Question {
    id: [u8; 2],
    /// The question's own bytes, which the answer repeats.
    bytes: Vec<u8>,
    name: String,
    kind: u16,
}

impl Question {
    fn read(packet: &[u8]) -> Option<Self> {
        let mut at = 12;
        let mut labels: Vec<String> = Vec::new();
        loop {
            let length = usize::from(*packet.get(at)?);
            at += 1;
            if length == 0 {
                break;
            }
            let label = packet.get(at..at + length)?;
            labels.push(String::from_utf8_lossy(label).to_lowercase());
            at += length;
        }
        let kind = packet.get(at..at + 2)?;
        Some(Self {
            id: [packet[0], packet[1]],
            kind: u16::from_be_bytes([kind[0], kind[1]]),
            bytes: packet.get(12..at + 4)?.to_vec(),
            name: labels.join("."),
        })
    }

    fn reply(&self, found: &Found) -> Option<Vec<u8>> {
        let mut records = Vec::new();
        let (addresses, is_there) = match found {
            Found::Silence => return None,
            Found::Nothing => (&[][..], false),
            Found::Addresses(all) => (&all[..], true),
            Found::Alias(target, all) => {
                // The name of the question, by its place in the packet.
                records.push((vec![0xc0, 12], CNAME, wire_name(target)));
                (&all[..], true)
            }
        };
        let owner = match found {
            Found::Alias(target, _) => wire_name(target),
            _ => vec![0xc0, 12],
        };
        for address in addresses {
            match (address, self.kind) {
                (IpAddr::V4(v4), A) => records.push((owner.clone(), A, v4.octets().to_vec())),
                (IpAddr::V6(v6), AAAA) => records.push((owner.clone(), AAAA, v6.octets().to_vec())),
                _ => {}
            }
        }
        let mut reply = self.id.to_vec();
        // A response, recursion asked for and to be had; 3 is "no such name".
        reply.extend_from_slice(&[0x81, if is_there { 0x80 } else { 0x83 }]);
        let count = u16::try_from(records.len()).expect("few");
        for number in [1, count, 0, 0] {
            reply.extend_from_slice(&number.to_be_bytes());
        }
        reply.extend_from_slice(&self.bytes);
        for (name, kind, data) in records {
            reply.extend_from_slice(&name);
            reply.extend_from_slice(&kind.to_be_bytes());
            // Internet; to be kept for no second.
            reply.extend_from_slice(&[0, 1, 0, 0, 0, 0]);
            let length = u16::try_from(data.len()).expect("short");
            reply.extend_from_slice(&length.to_be_bytes());
            reply.extend_from_slice(&data);
        }
        Some(reply)
    }
}

fn wire_name(name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for label in name.split('.') {
        out.push(u8::try_from(label.len()).expect("a short label"));
        out.extend_from_slice(label.as_bytes());
    }
    out.push(0);
    out
}
