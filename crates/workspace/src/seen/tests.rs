use super::{ContentStamp, MAX_DIGESTED_BYTES, SeenFile, hashes};
use std::path::Path;

#[test]
fn what_is_remembered_comes_back_as_it_was() {
    let stat = rustix::fs::stat(".").expect("a directory");
    for (lines, digest) in [
        (None, None),
        (None, Some(u64::MAX)),
        (Some(Vec::new()), None),
        (Some(vec![1, u32::MAX]), None),
    ] {
        let seen = SeenFile {
            stamp: ContentStamp::from(&stat),
            at: 7,
            left: lines.is_some().then(|| ContentStamp::from(&stat)),
            lines,
            digest,
        };
        let path = Path::new("/a\nb");
        let bytes = seen.to_bytes(path);
        assert_eq!(SeenFile::from_bytes(&bytes), Some((path.to_owned(), seen)));
        for end in 0..bytes.len() {
            let _ = SeenFile::from_bytes(&bytes[..end]);
        }
    }
}

#[test]
fn a_huge_file_is_not_read_to_be_remembered_even_if_it_is_just_written() {
    let dir = tempfile::tempdir().expect("a directory");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    for (size, is_digested) in [(MAX_DIGESTED_BYTES, true), (MAX_DIGESTED_BYTES + 1, false)] {
        let file = std::fs::File::create_new(dir.path().join(size.to_string()));
        let file = file.expect("a file");
        file.set_len(size).expect("its size");
        file.set_modified(later).expect("its time");
        let file = std::fs::File::open(dir.path().join(size.to_string())).expect("a file");
        let seen = SeenFile::new(&file).expect("a regular file");
        assert_eq!(seen.digest.is_some(), is_digested, "{size}");
    }
}

#[test]
fn lines_differ_by_each_byte_and_by_their_end() {
    let texts = [
        "",
        "a\n",
        "a",
        "b\n",
        "a\0\n",
        "12345678\n",
        "12345679\n",
        "a\r\n",
        "aa\n",
    ];
    let all: std::collections::BTreeSet<_> = texts.map(|text| hashes(text.as_bytes())).into();
    assert_eq!(all.len(), texts.len());
    assert_eq!(hashes(b"a\nb\n"), [hashes(b"a\n"), hashes(b"b\n")].concat());
}
