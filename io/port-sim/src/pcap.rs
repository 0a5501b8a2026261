//! Capture files, in the classic pcap format with nanoseconds.

use std::io::{self, Write};

const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const SNAP_LEN: u32 = 262_144;
const LINKTYPE_ETHERNET: u32 = 1;

/// Writes Ethernet frames as a capture file.
#[derive(Debug)]
pub struct PcapWriter<W: Write>(W);

impl<W: Write> PcapWriter<W> {
    /// Writes the file header.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn new(mut writer: W) -> io::Result<Self> {
        let version = (4_u32 << 16) | 2;
        for field in [
            MAGIC_NANOSECONDS,
            version,
            0,
            0,
            SNAP_LEN,
            LINKTYPE_ETHERNET,
        ] {
            writer.write_all(&field.to_le_bytes())?;
        }
        Ok(Self(writer))
    }

    /// Writes a frame, seen at `at_ns` since the beginning of time.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&mut self, at_ns: u64, frame: &[u8]) -> io::Result<()> {
        let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        let captured = length.min(SNAP_LEN);
        let (seconds, nanoseconds) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000);
        // The format has 32 bits for the seconds.
        for field in [seconds as u32, nanoseconds as u32, captured, length] {
            self.0.write_all(&field.to_le_bytes())?;
        }
        self.0.write_all(&frame[..captured as usize])
    }

    /// Flushes, and gives the writer back.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.0.flush()?;
        Ok(self.0)
    }
}
