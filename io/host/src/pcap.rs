//! Reader of pcap files that are still being written by tcpdump (pcap-file does not read those), and writer.

use std::io::{self, Error, ErrorKind, Read, Write};

/// Microseconds, in the byte order of this machine.
const MAGIC: u32 = 0xa1b2_c3d4;
const VERSION: [u16; 2] = [2, 4];
const ETHERNET: u32 = 1;
/// No frame is longer, so a larger number is no length.
const FRAME_MAX_BYTES: u32 = 256 << 10;

/// A frame, perhaps only its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Captured octets.
    pub bytes: &'a [u8],
    /// Length on the wire.
    pub wire_bytes: u32,
}

/// Reads the frames of `from` one by one to its end.
pub fn read(mut from: impl Read, mut each: impl FnMut(Frame<'_>)) -> io::Result<()> {
    let mut start = [0; 24];
    from.read_exact(&mut start)?;
    if u32_at(&start, 0) != MAGIC || u32_at(&start, 20) != ETHERNET {
        return Err(invalid("not a capture of Ethernet frames in this format"));
    }
    let mut bytes = Vec::new();
    while let Some((captured, wire_bytes)) = next_lengths(&mut from)? {
        bytes.resize(captured as usize, 0);
        from.read_exact(&mut bytes)?;
        let bytes = &bytes;
        each(Frame { bytes, wire_bytes });
    }
    Ok(())
}

/// Writes a file of `frames`, without their times.
pub fn write<'a>(
    mut to: impl Write,
    frames: impl IntoIterator<Item = Frame<'a>>,
) -> io::Result<()> {
    to.write_all(&MAGIC.to_ne_bytes())?;
    for part in VERSION {
        to.write_all(&part.to_ne_bytes())?;
    }
    for word in [0, 0, FRAME_MAX_BYTES, ETHERNET] {
        to.write_all(&word.to_ne_bytes())?;
    }
    for frame in frames {
        let captured = u32::try_from(frame.bytes.len()).map_err(|_| invalid("too long a frame"))?;
        for word in [0, 0, captured, frame.wire_bytes] {
            to.write_all(&word.to_ne_bytes())?;
        }
        to.write_all(frame.bytes)?;
    }
    to.flush()
}

/// Of the next frame: what was captured of it, and what there was; `None` at the end.
fn next_lengths(from: &mut impl Read) -> io::Result<Option<(u32, u32)>> {
    let mut header = [0; 16];
    let mut filled = 0;
    while let Some(rest) = header.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match from.read(rest) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => filled += n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let captured = u32_at(&header, 8);
    if captured > FRAME_MAX_BYTES {
        return Err(invalid("a frame longer than any can be"));
    }
    Ok(Some((captured, u32_at(&header, 12))))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
    u32::from_ne_bytes(word.copied().unwrap_or_default())
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES: [Frame<'_>; 2] = [
        Frame {
            bytes: b"whole",
            wire_bytes: 5,
        },
        Frame {
            bytes: b"beg",
            wire_bytes: 9000,
        },
    ];

    fn file() -> Vec<u8> {
        let mut file = Vec::new();
        write(&mut file, FRAMES).expect("write");
        file
    }

    #[test]
    fn what_is_written_is_read() {
        let mut lengths = Vec::new();
        let file = file();
        read(&file[..], |frame| {
            lengths.push((frame.bytes.to_vec(), frame.wire_bytes))
        })
        .expect("read");
        let expected = FRAMES.map(|frame| (frame.bytes.to_vec(), frame.wire_bytes));
        assert_eq!(lengths, expected);
    }

    #[test]
    fn what_is_cut_short_or_is_no_capture_is_an_error() {
        let file = file();
        for len in (0..24).chain([30, 43]) {
            assert!(read(&file[..len], |_| ()).is_err(), "{len}");
        }
        assert!(read(&[7; 100][..], |_| ()).is_err());
        let mut endless = file;
        endless[32..36].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert!(read(&endless[..], |_| ()).is_err());
    }
}
