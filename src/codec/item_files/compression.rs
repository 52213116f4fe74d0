//! Compressed files: gzip and Zstandard, told by their first bytes.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::{
    BlockDecodingStrategy, FrameDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};

const GZIP: &[u8] = b"\x1F\x8B";
const ZSTANDARD: &[u8] = b"\x28\xB5\x2F\xFD";

/// Returns the text of a file that may be compressed.
///
/// # Errors
/// The file cannot be read.
pub fn decompressed<'r>(mut file: impl Read + 'r) -> io::Result<Box<dyn Read + 'r>> {
    let mut first = Vec::new();
    file.by_ref().take(4).read_to_end(&mut first)?;
    let (is_gzip, is_zstandard) = (first.starts_with(GZIP), first.starts_with(ZSTANDARD));
    let whole = Cursor::new(first).chain(file);
    Ok(match () {
        () if is_gzip => Box::new(MultiGzDecoder::new(whole)),
        () if is_zstandard => Box::new(ZstdFrames::new(BufReader::new(whole))),
        () => Box::new(whole),
    })
}

// Zstandard (RFC 8878), frame after frame: some compressors write many frames, with skippable
// frames between them.

/// The maximum window to which a frame may refer back, and so the memory for reading one: that of
/// `zstd -d` without `--memory`.
const WINDOW_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// A reader of the text of all frames.
pub struct ZstdFrames<R> {
    input: R,
    decoder: FrameDecoder,
    /// True if a frame has begun and has not been read to its end.
    is_open: bool,
}

impl<R: BufRead> ZstdFrames<R> {
    pub fn new(input: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW_BYTES_MAX);
        Self {
            input,
            decoder,
            is_open: false,
        }
    }

    /// Begins the next frame that has text; returns false if there is none.
    fn open(&mut self) -> io::Result<bool> {
        while !self.input.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.input) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut (&mut self.input).take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(damaged(&error)),
            }
        }
        Ok(false)
    }
}

fn damaged(error: &FrameDecoderError) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("no whole Zstandard text: {error}"),
    )
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_open && !self.open()? {
                return Ok(0);
            }
            self.is_open = true;
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            if self.decoder.is_finished() {
                self.is_open = false;
                continue;
            }
            self.decoder
                .decode_blocks(&mut self.input, BlockDecodingStrategy::UptoBlocks(1))
                .map_err(|error| damaged(&error))?;
        }
    }
}

#[cfg(test)]
mod zstd_frames_tests {
    #![allow(clippy::unwrap_used)]

    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn read(bytes: &[u8]) -> io::Result<String> {
        let mut text = String::new();
        ZstdFrames::new(io::BufReader::with_capacity(7, bytes)).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn frames_follow_each_other_and_some_are_skipped() {
        let frame = |text: &str| compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
        let long = "some text, ".repeat(50_000);
        let skipped = [
            &0x184D_2A50_u32.to_le_bytes()[..],
            &3_u32.to_le_bytes()[..],
            b"abc",
        ]
        .concat();
        let all = [
            skipped.clone(),
            frame("one "),
            frame(""),
            skipped,
            frame(&long),
        ]
        .concat();
        assert_eq!(read(&all).unwrap(), format!("one {long}"));
        assert_eq!(read(b"").unwrap(), "");
        assert!(read(b"no zstd at all").is_err());
        assert!(read(&all[..all.len() - 5]).is_err());
    }
}
