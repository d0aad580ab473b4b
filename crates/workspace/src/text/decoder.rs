//! Decodes text piece by piece.

use super::{Encoding, Form};
use std::io::{self, Read};

const PIECE_BYTES: usize = 64 * 1024;

/// A decoder of pieces of bytes, which may split characters. Invalid bytes become U+FFFD.
#[derive(Debug)]
pub struct Decoder(Inner);

enum Inner {
    Standard(encoding_rs::Decoder),
    Utf32 {
        order: super::ByteOrder,
        begun: Vec<u8>,
    },
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Inner")
    }
}

impl Encoding {
    /// Returns a decoder for the bytes after the byte-order mark.
    pub fn decoder(self) -> Decoder {
        Decoder(match self.form {
            Form::Standard(standard) => {
                Inner::Standard(standard.new_decoder_without_bom_handling())
            }
            Form::Utf32(order) => Inner::Utf32 {
                order,
                begun: Vec::new(),
            },
        })
    }
}

impl Decoder {
    /// Decodes a piece and appends it to `text`. `ended` is true for the last piece.
    pub fn push(&mut self, bytes: &[u8], ended: bool, text: &mut String) {
        match &mut self.0 {
            Inner::Standard(decoder) => {
                let room = decoder.max_utf8_buffer_length(bytes.len());
                text.reserve(room.unwrap_or(bytes.len() * 3));
                // There is room for the whole piece, so all of it is decoded.
                let _ = decoder.decode_to_string(bytes, text, ended);
            }
            Inner::Utf32 { order, begun } => {
                begun.extend_from_slice(bytes);
                let rest = if ended { 0 } else { begun.len() % 4 };
                let whole = begun.len() - rest;
                text.extend(order.decode(&begun[..whole]));
                begun.drain(..whole);
            }
        }
    }
}

/// A reader of another reader's bytes, decoded to UTF-8.
#[derive(Debug)]
pub struct DecodedReader<R> {
    inner: R,
    decoder: Decoder,
    piece: Vec<u8>,
    text: String,
    taken: usize,
    has_ended: bool,
}

impl<R: Read> DecodedReader<R> {
    /// Returns a reader that decodes the bytes of `inner`, which begins after the byte-order mark.
    pub fn new(inner: R, encoding: Encoding) -> Self {
        Self {
            inner,
            decoder: encoding.decoder(),
            piece: vec![0; PIECE_BYTES],
            text: String::new(),
            taken: 0,
            has_ended: false,
        }
    }
}

impl<R: Read> Read for DecodedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.text.len() && !self.has_ended {
            let n = self.inner.read(&mut self.piece)?;
            self.has_ended = n == 0;
            self.text.clear();
            self.taken = 0;
            self.decoder.push(&self.piece[..n], n == 0, &mut self.text);
        }
        let n = (&self.text.as_bytes()[self.taken..]).read(buffer)?;
        self.taken += n;
        Ok(n)
    }
}
