//! The packing around the message.

use std::io::{self, Read, Write};

use flate2::read::MultiGzDecoder;
use flate2::{Compression, GzBuilder};

use super::ReadError;

/// How every gzip file begins (RFC 1952, section 2.3.1).
pub const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Largest message that is read. Profiles of hours have a few megabytes: equal stacks are one sample.
pub const MAX_UNPACKED: usize = 64 << 20;

/// Packs `message`. The header has no time and no name, so that equal messages are equal files.
pub fn pack(message: &[u8], out: impl Write) -> io::Result<()> {
    let mut packer = GzBuilder::new().write(out, Compression::default());
    packer.write_all(message)?;
    packer.finish()?.flush()
}

/// The message in a file, packed or, as the format allows, not.
pub fn unpack(mut input: impl Read) -> Result<Vec<u8>, ReadError> {
    let mut magic = Vec::new();
    input.by_ref().take(GZIP_MAGIC.len() as u64).read_to_end(&mut magic)?;
    let is_packed = magic == GZIP_MAGIC;
    let whole = io::Cursor::new(magic).chain(input);
    if is_packed { read_bounded(MultiGzDecoder::new(whole)) } else { read_bounded(whole) }
}

fn read_bounded(input: impl Read) -> Result<Vec<u8>, ReadError> {
    let mut message = Vec::new();
    input.take(MAX_UNPACKED as u64 + 1).read_to_end(&mut message)?;
    if message.len() > MAX_UNPACKED {
        return Err(ReadError::TooLarge { what: "message", limit: MAX_UNPACKED });
    }
    Ok(message)
}
