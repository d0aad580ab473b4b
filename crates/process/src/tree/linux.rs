//! Linux: finds processes in `/proc`, and signals them through pidfds.

use super::{Identity, Stat};
use rustix::event::Timespec;
use rustix::process::{Pid, PidfdFlags, Signal};

/// How often to look for orphans: never, since they become children of the supervisor.
pub(crate) const LOOK_FOR_ORPHANS: Option<Timespec> = None;

pub(crate) fn orphans(_session: i32) -> Vec<Identity> {
    Vec::new()
}

pub(super) fn signal(process: Identity, pid: Pid, signal: Signal) {
    // A pidfd never refers to a later process with the same id.
    let Ok(fd) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    if process.is_alive() {
        // The process may have ended in between, which makes the signal unnecessary.
        let _ = rustix::process::pidfd_send_signal(fd, signal);
    }
}

/// Returns an id of this boot of the machine. Start times of processes count from the boot.
pub fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

pub(super) fn all() -> Vec<Stat> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(stat).collect()
}

pub(super) fn stat(pid: i32) -> Option<Stat> {
    let raw = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(pid, &raw)
}

fn parse_stat(pid: i32, raw: &[u8]) -> Option<Stat> {
    // The program's name, which stands in parentheses, may itself contain parentheses.
    let end = raw.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(raw.get(end + 2..)?).ok()?;
    let fields: Vec<&str> = rest.split(' ').collect();
    Some(Stat {
        identity: Identity {
            pid,
            start_time: fields.get(19)?.parse().ok()?,
        },
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        // A process whose first thread has ended has the same state letter as a zombie, but its
        // other threads run on.
        is_zombie: matches!(*fields.first()?, "Z" | "X")
            && fields.get(17)?.parse::<u64>().ok()? <= 1,
    })
}

#[cfg(test)]
mod tests {
    use super::parse_stat;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let raw = b"7 (a) b) (c) S 3 7 5 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 991 1 1 1";
        let stat = parse_stat(7, raw).expect("fields");
        assert_eq!(
            (stat.parent, stat.session, stat.identity.start_time),
            (3, 5, 991)
        );
        assert!(parse_stat(7, b"7 (x").is_none());
    }

    #[test]
    fn a_process_lives_as_long_as_one_of_its_threads() {
        for (state, threads, is_zombie) in [("Z", 1, true), ("Z", 2, false), ("S", 1, false)] {
            let raw = format!("7 (a) {state} 3 7 5 0 -1 4 1 0 0 0 0 0 0 0 20 0 {threads} 0 991 1");
            let stat = parse_stat(7, raw.as_bytes()).expect("fields");
            assert_eq!(stat.is_zombie, is_zombie, "{raw}");
        }
    }
}
