use crate::builtin::search::{SEARCHED, is_gone};
use rustix::fs::{Mode, openat};
use std::fs::File;
use std::io::Read;

#[test]
fn what_takes_the_place_of_a_file_is_no_file_that_cannot_be_read() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name);
    std::os::unix::fs::symlink("closed", path("link")).expect("a link");
    std::fs::create_dir(path("directory")).expect("a directory");
    let _socket = std::os::unix::net::UnixListener::bind(path("socket")).expect("a socket");
    let at = File::open(dir.path()).expect("a directory");
    for name in ["missing", "link", "socket", "directory"] {
        let read = openat(&at, name, SEARCHED, Mode::empty())
            .map_err(std::io::Error::from)
            .and_then(|file| File::from(file).read(&mut [0]));
        assert!(is_gone(&read.expect_err(name)), "{name}");
    }
    let denied = std::io::Error::from(rustix::io::Errno::ACCESS);
    assert!(!is_gone(&denied));
}
