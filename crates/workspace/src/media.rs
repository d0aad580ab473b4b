//! Recognises images, audio, video and PDF by their content, helped by the file's name.

use std::path::Path;

/// The largest media file that is handed to a model, in bytes.
pub const MAX_MEDIA_BYTES: u64 = 20 * 1024 * 1024;

/// How many bytes may precede the header of a PDF, which PDF readers accept.
const PDF_HEADER_BYTES: usize = 1024;

/// Returns the MIME type of media that the Gemini API takes inline; `None` for other files.
///
/// `sample` is the file's beginning, and `is_text` is true if [`super::text::detect`] took it for
/// text. The content decides. The name counts only where the signature is weak: plain text can
/// begin with it (`BM…`, `GIF8…`), a family of formats shares it, or it belongs to a PDF after
/// other bytes.
pub fn mime_type(sample: &[u8], path: &Path, is_text: bool) -> Option<&'static str> {
    if sample.starts_with(b"%PDF-") {
        return Some("application/pdf");
    }
    let by_name = by_extension(path);
    if is_text && by_name.is_none() {
        return None;
    }
    let by_content = infer::get(sample)
        .map(|kind| kind.mime_type())
        .and_then(normal_name)
        .filter(|mime| *mime != "image/bmp" || is_bmp(sample));
    match (by_content, by_name) {
        (Some(content), Some(name)) if is_text => (content == name).then_some(content),
        (Some(content), _) => Some(content),
        (None, Some(name)) if !is_text || name == "application/pdf" => {
            has_signature(sample, name).then_some(name)
        }
        _ => None,
    }
}

/// Returns true if the header after `BM` has one of the sizes that BMP headers have, or is cut off.
/// Plain text can begin with these two letters too.
fn is_bmp(sample: &[u8]) -> bool {
    let size = sample
        .get(14..18)
        .map(|size| u32::from_le_bytes([size[0], size[1], size[2], size[3]]));
    size.is_none_or(|size| [12, 16, 40, 52, 56, 64, 108, 124].contains(&size))
}

/// Returns true if the beginning of a file whose name says `mime` fits that type. `infer`
/// recognises only the most common form of each.
fn has_signature(sample: &[u8], mime: &str) -> bool {
    let at = |at: usize, any: &[&[u8]]| {
        let rest = sample.get(at..).unwrap_or_default();
        any.iter().any(|text| rest.starts_with(text))
    };
    match mime {
        "application/pdf" => {
            let head = &sample[..sample.len().min(PDF_HEADER_BYTES)];
            memchr::memmem::find(head, b"%PDF-").is_some()
        }
        // The header of an MPEG frame: eleven set bits, a version and a layer.
        "audio/mpeg" => {
            matches!(sample, [0xff, b, ..] if b & 0xe0 == 0xe0 && b & 0x18 != 0x08 && b & 6 != 0)
        }
        "audio/aac" => {
            at(0, &[b"ADIF", b"ID3"]) || matches!(sample, [0xff, b, ..] if b & 0xf6 == 0xf0)
        }
        "audio/wav" => at(0, &[b"RF64"]) && at(8, &[b"WAVE"]),
        "audio/aiff" => at(0, &[b"FORM"]) && at(8, &[b"AIFC"]),
        "video/mp4" | "audio/mp4" | "image/heif" | "image/avif" => at(4, &[b"ftyp"]),
        "video/quicktime" => at(4, &[b"ftyp", b"wide", b"free", b"skip", b"pnot"]),
        "video/webm" | "video/x-matroska" => at(0, &[b"\x1a\x45\xdf\xa3"]),
        _ => false,
    }
}

fn normal_name(mime: &'static str) -> Option<&'static str> {
    Some(match mime {
        "audio/x-wav" => "audio/wav",
        "audio/x-flac" => "audio/flac",
        "audio/x-aiff" => "audio/aiff",
        "audio/m4a" => "audio/mp4",
        "image/png" | "image/jpeg" | "image/gif" | "image/webp" | "image/bmp" | "image/heif"
        | "image/avif" => mime,
        _ if mime.starts_with("audio/") || mime.starts_with("video/") => mime,
        _ => return None,
    })
}

/// Returns the media type that a file's extension stands for. The table is short on purpose: a
/// complete one calls every `.ts` file a video.
fn by_extension(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    Some(match extension.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "bmp" => "image/bmp",
        "heic" | "heif" => "image/heif",
        "avif" => "image/avif",
        "pdf" => "application/pdf",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "flac" => "audio/flac",
        "aiff" | "aif" => "audio/aiff",
        "aac" => "audio/aac",
        "ogg" => "audio/ogg",
        "m4a" => "audio/mp4",
        "mp4" => "video/mp4",
        "mpg" | "mpeg" => "video/mpeg",
        "mov" => "video/quicktime",
        "avi" => "video/x-msvideo",
        "webm" => "video/webm",
        "mkv" => "video/x-matroska",
        "wmv" => "video/x-ms-wmv",
        "flv" => "video/x-flv",
        _ => return None,
    })
}

/// Returns true if the name's extension is one of a media file.
pub fn is_media_name(path: &Path) -> bool {
    by_extension(path).is_some()
}

#[cfg(test)]
mod tests {
    use super::mime_type;
    use std::path::Path;

    #[test]
    fn content_decides_and_the_name_helps() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        let cases: [(&[u8], &str, bool, Option<&str>); 19] = [
            (png, "a.dat", false, Some("image/png")),
            (png, "a.jpg", false, Some("image/png")),
            (b"\xff\xd8\xff\xe0\0", "F.JPG", false, Some("image/jpeg")),
            (b"%PDF-1.4\n", "p", true, Some("application/pdf")),
            (b"BM and more text", "notes.txt", true, None),
            (b"export type X", "a.ts", true, None),
            (b"\0\0\0\x01", "a.mp3", false, None),
            (b"\xff\xfa\x90\0", "a.mp3", false, Some("audio/mpeg")),
            (b"\0\0\0\x18ftypxyz1", "a.mp4", false, Some("video/mp4")),
            (b"\0\0\x01\0\x01\0\x10\x10", "icon.jpg", false, None),
            (b"II*\0\x08\0\0\0", "scan.png", false, None),
            (b"PK\x03\x04\0\0", "z.pdf", false, None),
            (
                b"\0junk\n%PDF-1.7\n",
                "z.pdf",
                false,
                Some("application/pdf"),
            ),
            (b"\0junk\n%PDF-1.7\n", "z.bin", false, None),
            (b"junk\n%PDF-1.7\n", "z.pdf", true, Some("application/pdf")),
            (b"\x89PNG", "cut.png", false, Some("image/png")),
            (b"BM and more text, of words", "notes.bmp", true, None),
            (b"PK\x03\x04\0", "a.zip", false, None),
            (b"<svg/>", "a.svg", true, None),
        ];
        for (sample, name, is_text, expected) in cases {
            assert_eq!(
                mime_type(sample, Path::new(name), is_text),
                expected,
                "{name}"
            );
        }
    }
}
