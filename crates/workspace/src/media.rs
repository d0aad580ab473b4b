//! Recognising media by content, with the name as a second opinion.

use std::path::Path;

/// The largest media file that is handed to a model, in bytes.
pub const MAX_MEDIA_BYTES: u64 = 20 * 1024 * 1024;

/// Returns the MIME type of media that the Gemini API takes inline; `None` for other files.
///
/// `sample` is the file's beginning and `is_text` what [`super::text::detect`] said of it.
/// Content decides; a name counts where the content is binary but unknown, or where a
/// signature that plain text can begin with (`BM…`, `GIF8…`) needs to be confirmed.
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
        .and_then(normal_name);
    match (by_content, by_name) {
        (Some(content), Some(name)) if is_text => (content == name).then_some(content),
        (Some(content), _) if !is_text => Some(content),
        (None, Some(name)) if !is_text => Some(name),
        _ => None,
    }
}

/// Returns the name under which the API knows a type; `None` for what is not media.
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

/// Returns the type of media by a name, from a short table of our own: a complete one calls every `.ts`
/// file a video.
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

/// Returns true if a name is that of media by its extension.
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
        let cases: [(&[u8], &str, bool, Option<&str>); 9] = [
            (png, "a.dat", false, Some("image/png")),
            (png, "a.jpg", false, Some("image/png")),
            (b"\xff\xd8\xff\xe0\0", "F.JPG", false, Some("image/jpeg")),
            (b"%PDF-1.4\n", "p", true, Some("application/pdf")),
            (b"BM and more text", "notes.txt", true, None),
            (b"export type X", "a.ts", true, None),
            (b"\0\0\0\x01", "a.mp3", false, Some("audio/mpeg")),
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
