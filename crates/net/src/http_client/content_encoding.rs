//! Content codings (RFC 9110, section 8.4): what has been done to content on its way.

use brotli_decompressor::Decompressor;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use std::io::{self, Chain, Cursor, Read};
use thiserror::Error;

/// The most codings, one upon another, that are read.
const MAX_CODINGS: usize = 4;

/// Value of `Accept-Encoding`: the codings that save most.
pub(super) const ACCEPTED: &str = "gzip, br";

/// The content before the codings that a header names, the last of which was applied last;
/// or the name of one that is not understood, and which are.
pub(super) fn decoded<S: AsRef<str>>(
    raw: impl Read + 'static,
    headers: impl Iterator<Item = S>,
) -> Result<Box<dyn Read>, String> {
    let names: Vec<String> = headers
        .flat_map(|header| {
            let names = header.as_ref().split(',');
            names
                .map(|name| name.trim().to_ascii_lowercase())
                .collect::<Vec<_>>()
        })
        .filter(|name| !name.is_empty() && name != "identity")
        .collect();
    if names.len() > MAX_CODINGS {
        return Err(format!(
            "of {} layers; at most {MAX_CODINGS} are decoded",
            names.len()
        ));
    }
    let mut content: Box<dyn Read> = Box::new(raw);
    for name in names.iter().rev() {
        content = match name.as_str() {
            "gzip" | "x-gzip" => coded("gzip", MultiGzDecoder::new(content)),
            "deflate" => coded("deflate", Deflate::Unread(content)),
            "br" => coded("brotli", Decompressor::new(content, 4096)),
            other => {
                let shown: String = other.chars().take(40).collect();
                return Err(format!(
                    "{shown:?}, which is not known here; gzip, deflate and br are"
                ));
            }
        };
    }
    Ok(content)
}

/// Content that is not what the header says; or it ended, as its source tells.
#[derive(Debug, Error)]
#[error("{coding}: {source}")]
pub(super) struct Undecodable {
    coding: &'static str,
    pub(super) source: io::Error,
}

/// A decoder whose own errors say which it is.
struct Coded<R>(&'static str, R);

fn coded(name: &'static str, reader: impl Read + 'static) -> Box<dyn Read> {
    Box::new(Coded(name, reader))
}

impl<R: Read> Read for Coded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1.read(buffer).map_err(|e| {
            let is_passed_on = e
                .get_ref()
                .is_some_and(|e| e.is::<ureq::Error>() || e.is::<Undecodable>());
            if is_passed_on || e.kind() == io::ErrorKind::Interrupted {
                e
            } else {
                io::Error::other(Undecodable {
                    coding: self.0,
                    source: e,
                })
            }
        })
    }
}

/// `deflate` is deflated data in the format of zlib; some servers leave the format away, which
/// browsers take too.
enum Deflate {
    Unread(Box<dyn Read>),
    Zlib(ZlibDecoder<Begun>),
    Bare(DeflateDecoder<Begun>),
    /// The beginning could not be read.
    Broken,
}

/// The bytes that were read to recognise the coding, and the rest.
type Begun = Chain<Cursor<Vec<u8>>, Box<dyn Read>>;

impl Read for Deflate {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if matches!(self, Deflate::Unread(_))
            && let Deflate::Unread(content) = std::mem::replace(self, Deflate::Broken)
        {
            *self = Self::begin(content)?;
        }
        match self {
            Deflate::Zlib(decoder) => decoder.read(buffer),
            Deflate::Bare(decoder) => decoder.read(buffer),
            Deflate::Unread(_) | Deflate::Broken => Ok(0),
        }
    }
}

impl Deflate {
    fn begin(mut content: Box<dyn Read>) -> io::Result<Self> {
        let mut head = Vec::new();
        (&mut content).take(2).read_to_end(&mut head)?;
        let is_zlib = matches!(head[..], [method, flags] if method & 0x0f == 8
            && u16::from_be_bytes([method, flags]).is_multiple_of(31));
        let content = Cursor::new(head).chain(content);
        Ok(if is_zlib {
            Deflate::Zlib(ZlibDecoder::new(content))
        } else {
            Deflate::Bare(DeflateDecoder::new(content))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::decoded;
    use flate2::Compression;
    use flate2::read::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use std::io::{Cursor, Read};

    fn read(bytes: Vec<u8>, header: &str) -> Result<String, String> {
        let mut text = String::new();
        decoded(Cursor::new(bytes), [header].into_iter())?
            .read_to_string(&mut text)
            .map_err(|e| e.to_string())?;
        Ok(text)
    }

    fn all(mut reader: impl Read) -> Vec<u8> {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).expect("memory");
        bytes
    }

    #[test]
    fn codings_are_undone_from_the_last_to_the_first() {
        let text = "heron ".repeat(1000);
        let fast = Compression::fast();
        let zlib = all(ZlibEncoder::new(text.as_bytes(), fast));
        let bare = all(DeflateEncoder::new(text.as_bytes(), fast));
        let gzip = all(GzEncoder::new(text.as_bytes(), fast));
        let upon = all(GzEncoder::new(&zlib[..], fast));
        for (bytes, header) in [
            (&zlib, "deflate"),
            (&bare, "Deflate"),
            (&gzip, "X-GZIP"),
            (&upon, "deflate, gzip"),
            (&gzip, "identity,, gzip"),
        ] {
            let found = read(bytes.clone(), header);
            assert_eq!(found.as_deref(), Ok(text.as_str()), "{header}");
        }
        assert_eq!(read(text.clone().into_bytes(), "").as_deref(), Ok(&*text));
    }

    #[test]
    fn what_is_not_known_or_damaged_is_told() {
        let told = read(vec![0; 10], "zstd").expect_err("not known");
        assert!(told.contains("zstd") && told.contains("deflate"), "{told}");
        assert!(read(Vec::new(), "gzip,gzip,gzip,gzip,gzip").is_err());
        for header in ["x-gzip", "deflate", "BR"] {
            let told = read(b"nothing of the kind".to_vec(), header);
            assert!(told.is_err(), "{header}: {told:?}");
        }
    }
}
