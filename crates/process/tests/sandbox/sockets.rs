//! Tests that a command in the sandbox reaches no program outside through any socket.

use super::{Scene, has, told, users};
use gemini_tools_core::tool::SandboxMode;
use gemini_tools_process::sandbox::SandboxPolicy;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Servers outside the sandbox that count connections and datagrams.
struct Servers {
    came: Arc<AtomicUsize>,
    udp: UdpSocket,
    datagram: UnixDatagram,
    abstract_datagram: UnixDatagram,
    port: u16,
    udp_port: u16,
    name: String,
}

impl Servers {
    fn start(scene: &Scene) -> Self {
        let came = Arc::new(AtomicUsize::new(0));
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a TCP server");
        let port = tcp.local_addr().expect("its address").port();
        let unix = UnixListener::bind(scene.path("out/stream")).expect("a Unix server");
        let name = format!("sandbox-test-{}-{port}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("an abstract name");
        let hidden = UnixListener::bind_addr(&address).expect("an abstract server");
        let datagram = UnixDatagram::bind(scene.path("out/datagram")).expect("a Unix server");
        let address = SocketAddr::from_abstract_name(format!("{name}-d")).expect("a name");
        let abstract_datagram = UnixDatagram::bind_addr(&address).expect("an abstract server");
        let udp = UdpSocket::bind("127.0.0.1:0").expect("a UDP server");
        udp.set_nonblocking(true).expect("set");
        datagram.set_nonblocking(true).expect("set");
        abstract_datagram.set_nonblocking(true).expect("set");
        for socket in ["out/stream", "out/datagram"] {
            let everybody = fs::Permissions::from_mode(0o777);
            fs::set_permissions(scene.path(socket), everybody).expect("open to all");
        }
        let udp_port = udp.local_addr().expect("its address").port();
        let answer = |came: &AtomicUsize, stream: &mut dyn ReadWrite| {
            came.fetch_add(1, Ordering::SeqCst);
            let _ = stream.read(&mut [0; 512]);
            let _ = stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nhello");
        };
        let counter = Arc::clone(&came);
        std::thread::spawn(move || {
            for mut stream in tcp.incoming().flatten() {
                answer(&counter, &mut stream);
            }
        });
        for server in [unix, hidden] {
            let counter = Arc::clone(&came);
            std::thread::spawn(move || {
                for mut stream in server.incoming().flatten() {
                    answer(&counter, &mut stream);
                }
            });
        }
        Self {
            came,
            udp,
            datagram,
            abstract_datagram,
            port,
            udp_port,
            name,
        }
    }

    /// Returns scripts that each reach one of the servers if they are not in a sandbox.
    fn attempts(&self) -> Vec<String> {
        let (port, udp_port, name) = (self.port, self.udp_port, &self.name);
        let python = |family: &str, sort: &str, acts: &str| {
            format!(
                r#"python3 -c '
import os, socket
out = os.environ["OUT"]
s = socket.socket(socket.{family}, socket.{sort})
{acts}
s.close()'"#
            )
        };
        let stream = |family, address: String| {
            let acts = format!("s.connect({address}); s.send(b\"x\"); s.recv(9)");
            python(family, "SOCK_STREAM", &acts)
        };
        vec![
            format!("curl -sS --max-time 20 http://127.0.0.1:{port}/"),
            format!("curl -sS --max-time 20 --noproxy '*' http://localhost:{port}/"),
            r#"curl -sS --max-time 20 --unix-socket "$OUT/stream" http://x/"#.to_string(),
            format!("curl -sS --max-time 20 --abstract-unix-socket {name} http://x/"),
            format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo x >&3 && read -r _ <&3"),
            format!("echo x > /dev/udp/127.0.0.1/{udp_port}"),
            stream("AF_INET", format!("(\"127.0.0.1\", {port})")),
            stream("AF_UNIX", "out + \"/stream\"".to_owned()),
            stream("AF_UNIX", format!("\"\\0{name}\"")),
            python(
                "AF_INET",
                "SOCK_DGRAM",
                &format!("s.sendto(b\"x\", (\"127.0.0.1\", {udp_port}))"),
            ),
            python(
                "AF_UNIX",
                "SOCK_DGRAM",
                "s.sendto(b\"x\", out + \"/datagram\")",
            ),
            python(
                "AF_UNIX",
                "SOCK_DGRAM",
                &format!("s.sendmsg([b\"x\"], [], 0, \"\\0{name}-d\")"),
            ),
            python(
                "AF_UNIX",
                "SOCK_STREAM",
                "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n\
                 a.sendto(b\"x\", out + \"/datagram\")",
            ),
        ]
    }

    fn visits(&self) -> usize {
        let mut visits = self.came.swap(0, Ordering::SeqCst);
        let mut byte = [0; 16];
        visits += usize::from(self.udp.recv(&mut byte).is_ok());
        visits += usize::from(self.datagram.recv(&mut byte).is_ok());
        visits += usize::from(self.abstract_datagram.recv(&mut byte).is_ok());
        visits
    }
}

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

#[test]
fn nobody_outside_is_reached_by_any_socket() {
    if !has("python3") || !has("curl") {
        return;
    }
    for user in users() {
        let scene = Scene::new(user);
        let servers = Servers::start(&scene);
        let scripts = servers.attempts();
        let with_network = SandboxPolicy {
            network: true,
            ..scene.policy(SandboxMode::WorkspaceWrite)
        };
        for script in &scripts {
            let output = scene.free(script);
            assert!(
                output.status.success(),
                "no real attempt: {script}: {}",
                told(&output)
            );
            assert_eq!(servers.visits(), 1, "no real attempt: {script}");

            let output = scene.confined(script);
            assert!(
                !output.status.success(),
                "{user:?} {script}: {}",
                told(&output)
            );
            assert_eq!(servers.visits(), 0, "{user:?} {script}");

            // Even with the network, no Unix socket of another program may be reached.
            let output = scene.confined_by(&with_network, script);
            let is_ip = script.contains("AF_INET") || script.contains("127.0.0.1");
            let is_ip = is_ip || script.contains("localhost");
            assert_eq!(
                output.status.success(),
                is_ip,
                "{user:?} {script}: {}",
                told(&output)
            );
            assert_eq!(servers.visits(), usize::from(is_ip), "{user:?} {script}");
        }

        for policy in [&with_network, &scene.policy(SandboxMode::WorkspaceWrite)] {
            // NETLINK_ROUTE and NETLINK_GENERIC.
            for (protocol, is_let) in [(0, true), (16, false)] {
                let script = format!(
                    "python3 -c 'import socket; socket.socket(16, socket.SOCK_RAW, {protocol})'"
                );
                let output = scene.confined_by(policy, &script);
                assert_eq!(
                    output.status.success(),
                    is_let,
                    "{user:?} {script}: {}",
                    told(&output)
                );
            }
        }

        let output = scene.confined_by(&with_network, r#"echo x > "$OUT/kept""#);
        assert!(!output.status.success(), "the network alone is allowed");
    }
}
