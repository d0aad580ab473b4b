//! A forked process that works on one piece after the other.
//!
//! Request and answer go through a pipe each, with their length in front.

use super::fork::{not_started, settle};
use super::{GoOn, IsolationError, ResourceLimits, TICK};
use crate::calls;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};
use std::fs::File;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// The bytes of a length.
const LENGTH_BYTES: usize = size_of::<u64>();

/// How much is read at once, in bytes.
const CHUNK_BYTES: usize = 64 * 1024;

/// A process that works as long as it is asked to. A caller that asks when it did not answer in
/// time, or has died, gets no further answer.
#[derive(Debug)]
pub struct Worker {
    pid: Pid,
    requests: File,
    answers: File,
    bounds: ResourceLimits,
    is_gone: bool,
}

impl Worker {
    /// Starts it. `bounds` are those of each piece.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn start(
        bounds: ResourceLimits,
        work: impl FnMut(&[u8]) -> Vec<u8> + Send,
    ) -> std::io::Result<Self> {
        let (input, requests) = calls::pipe()?;
        let (answers, output) = calls::pipe()?;
        // The other end may be kept open by a process that another thread has forked meanwhile.
        rustix::io::ioctl_fionbio(&requests, true)?;
        let parent = rustix::process::getpid();
        let pid = calls::fork(|| {
            if !settle(parent, bounds.memory_bytes) {
                return 1;
            }
            serve(work, input, output).map_or(1, |()| 0)
        });
        Ok(Self {
            pid: Pid::from_raw(pid?).ok_or(Errno::CHILD)?,
            requests: requests.into(),
            answers: answers.into(),
            bounds,
            is_gone: false,
        })
    }

    /// Has it work on a piece as long as `go_on` has no error, and gives the result.
    ///
    /// # Errors
    ///
    /// Why there is no result.
    pub fn ask<E>(
        &mut self,
        request: &[u8],
        go_on: &GoOn<'_, E>,
    ) -> Result<Vec<u8>, IsolationError<E>> {
        if self.is_gone {
            return Err(IsolationError::Died);
        }
        let result = self.exchange(request, go_on);
        if result.is_err() {
            self.end();
        }
        result
    }

    fn exchange<E>(
        &mut self,
        request: &[u8],
        go_on: &GoOn<'_, E>,
    ) -> Result<Vec<u8>, IsolationError<E>> {
        let until = Instant::now() + self.bounds.time;
        let length = (request.len() as u64).to_ne_bytes();
        let mut unsent = [&length[..], request];
        let mut answer = Vec::new();
        let mut piece = vec![0; CHUNK_BYTES];
        loop {
            let wanted = answer
                .first_chunk::<LENGTH_BYTES>()
                .map(|b| u64::from_ne_bytes(*b));
            if wanted.is_some_and(|n| n > self.bounds.result_bytes) {
                return Err(IsolationError::Died);
            }
            if wanted.is_some_and(|n| (answer.len() - LENGTH_BYTES) as u64 == n) {
                answer.drain(..LENGTH_BYTES);
                return Ok(answer);
            }
            go_on().map_err(IsolationError::Interrupted)?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(IsolationError::TooSlow);
            }
            let tick = Timespec::try_from(left.min(TICK)).ok();
            let is_sent = unsent.iter().all(|part| part.is_empty());
            let mut fds = [
                PollFd::new(&self.answers, PollFlags::IN),
                PollFd::new(&self.requests, PollFlags::OUT),
            ];
            let fds = if is_sent { &mut fds[..1] } else { &mut fds[..] };
            match poll(fds, tick.as_ref()) {
                Ok(0) => {
                    if self.has_died() {
                        return Err(IsolationError::Died);
                    }
                    continue;
                }
                Err(Errno::INTR) => continue,
                Ok(_) => {}
                Err(e) => return Err(not_started(e)),
            }
            let [has_answer, takes_more] =
                [0, 1].map(|at| fds.get(at).is_some_and(|fd| !fd.revents().is_empty()));
            if has_answer {
                match self.answers.read(&mut piece) {
                    Ok(0) => return Err(IsolationError::Died),
                    Ok(n) => answer.extend_from_slice(&piece[..n]),
                    Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(_) => return Err(IsolationError::Died),
                }
            }
            if takes_more {
                let part = unsent.iter_mut().find(|part| !part.is_empty());
                if let Some(part) = part {
                    match calls::without_sigpipe(|| rustix::io::write(&self.requests, part)) {
                        Ok(n) => *part = &part[n..],
                        Err(Errno::AGAIN | Errno::INTR) => {}
                        Err(_) => return Err(IsolationError::Died),
                    }
                }
            }
        }
    }

    fn has_died(&mut self) -> bool {
        let status = rustix::process::waitpid(Some(self.pid), WaitOptions::NOHANG);
        self.is_gone = !matches!(status, Ok(None));
        self.is_gone
    }

    fn end(&mut self) {
        if self.is_gone {
            return;
        }
        self.is_gone = true;
        let _ = rustix::process::kill_process(self.pid, Signal::KILL);
        let wait = || rustix::process::waitpid(Some(self.pid), WaitOptions::empty());
        let _ = rustix::io::retry_on_intr(wait);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end();
    }
}

/// The child's part.
fn serve(
    mut work: impl FnMut(&[u8]) -> Vec<u8>,
    input: OwnedFd,
    output: OwnedFd,
) -> std::io::Result<()> {
    let (mut input, mut output) = (File::from(input), File::from(output));
    let mut request = Vec::new();
    loop {
        let mut length = [0; LENGTH_BYTES];
        input.read_exact(&mut length)?;
        request.clear();
        let length = u64::from_ne_bytes(length);
        (&input).take(length).read_to_end(&mut request)?;
        let Ok(answer) = catch_unwind(AssertUnwindSafe(|| work(&request))) else {
            return Ok(());
        };
        output.write_all(&(answer.len() as u64).to_ne_bytes())?;
        output.write_all(&answer)?;
    }
}

#[cfg(test)]
mod tests {
    use super::{IsolationError, ResourceLimits, Worker};
    use std::convert::Infallible;
    use std::time::Duration;

    const BOUNDS: ResourceLimits = ResourceLimits {
        memory_bytes: 64 * 1024 * 1024,
        time: Duration::from_secs(60),
        result_bytes: 4 * 1024 * 1024,
    };

    #[test]
    fn one_piece_after_the_other_is_worked_on() {
        let go_on = || Ok::<(), Infallible>(());
        let mut count = 0_u8;
        let mut worker = Worker::start(BOUNDS, |request| {
            count += 1;
            [&[count], request].concat()
        })
        .expect("started");
        let large = vec![7; 3 * 1024 * 1024];
        for (number, request) in [(1, &b""[..]), (2, b"abc"), (3, &large)] {
            let answer = worker.ask(request, &go_on).expect("an answer");
            assert_eq!(answer, [&[number], request].concat());
        }
        assert_eq!(count, 0, "it works elsewhere");
    }

    #[test]
    fn it_ends_with_its_time_with_the_call_and_by_itself() {
        let sleepy = |request: &[u8]| -> Vec<u8> {
            match request {
                b"die" => std::process::abort(),
                b"eat" => vec![1; 512 * 1024 * 1024],
                _ => loop {
                    std::thread::sleep(Duration::from_millis(5));
                },
            }
        };
        let short = ResourceLimits {
            time: Duration::from_millis(100),
            ..BOUNDS
        };
        let go_on = || Ok::<(), Infallible>(());
        let mut worker = Worker::start(short, sleepy).expect("started");
        assert!(matches!(
            worker.ask(b"", &go_on),
            Err(IsolationError::TooSlow)
        ));
        assert!(matches!(worker.ask(b"", &go_on), Err(IsolationError::Died)));
        for request in [b"die", b"eat"] {
            let mut worker = Worker::start(BOUNDS, sleepy).expect("started");
            assert!(matches!(
                worker.ask(request, &go_on),
                Err(IsolationError::Died)
            ));
        }
        let mut worker = Worker::start(BOUNDS, sleepy).expect("started");
        assert!(matches!(
            worker.ask(b"", &|| Err("given up")),
            Err(IsolationError::Interrupted("given up"))
        ));
    }
}
