//! Writer of pcapng captures (draft-ietf-opsawg-pcapng) with named interfaces and comments.
//!
//! In the byte order of this machine, times in nanoseconds.

use std::io::{self, Write};
use std::time::Duration;

/// Section Header Block.
const SECTION: u32 = 0x0a0d_0d0a;
/// Tells the byte order.
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Interface Description Block.
const INTERFACE: u32 = 1;
/// Enhanced Packet Block.
const PACKET: u32 = 6;
/// LINKTYPE_ETHERNET.
const ETHERNET: u16 = 1;
/// Options: the end, a comment, and by their blocks the others.
const END: u16 = 0;
const COMMENT: u16 = 1;
const SECTION_APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_RESOLUTION: u16 = 9;
const PACKET_FLAGS: u16 = 2;
/// An option's length has 16 bits.
const OPTION_MAX: usize = 65_535;

/// Which way a frame went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameDirection {
    /// It was received.
    In,
    /// It was sent.
    Out,
}

/// A frame to be written.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The interface, by its place among the names.
    pub interface: u32,
    /// Since 1970-01-01 00:00 UTC.
    pub time: Duration,
    /// Which way it went.
    pub way: FrameDirection,
    /// What was captured of it.
    pub bytes: &'a [u8],
    /// Its length on the wire.
    pub wire_bytes: u32,
    /// What is to be said of it.
    pub comment: &'a str,
}

/// A capture being written. Each frame is handed on at once.
pub struct Writer<W: Write> {
    to: W,
    block: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a capture by `application` of these interfaces.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn begin<'n>(
        to: W,
        application: &str,
        interfaces: impl IntoIterator<Item = &'n str>,
    ) -> io::Result<Self> {
        let mut writer = Self {
            to,
            block: Vec::new(),
        };
        writer.put(&BYTE_ORDER.to_ne_bytes());
        writer.put(&1u16.to_ne_bytes());
        writer.put(&0u16.to_ne_bytes());
        // The length of the section is not known.
        writer.put(&u64::MAX.to_ne_bytes());
        writer.option(SECTION_APPLICATION, application.as_bytes());
        writer.end(SECTION)?;
        for name in interfaces {
            writer.put(&ETHERNET.to_ne_bytes());
            writer.put(&[0; 2]);
            // No limit of what is captured.
            writer.put(&0u32.to_ne_bytes());
            writer.option(INTERFACE_NAME, name.as_bytes());
            // 10^-9 s.
            writer.option(INTERFACE_RESOLUTION, &[9]);
            writer.end(INTERFACE)?;
        }
        writer.to.flush()?;
        Ok(writer)
    }

    /// Writes a frame.
    ///
    /// # Errors
    /// Those of the file.
    pub fn frame(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        let time_ns = u64::try_from(frame.time.as_nanos()).unwrap_or(u64::MAX);
        let captured = u32::try_from(frame.bytes.len()).unwrap_or(u32::MAX);
        let words = [
            frame.interface,
            (time_ns >> 32) as u32,
            time_ns as u32,
            captured,
            frame.wire_bytes.max(captured),
        ];
        for word in words {
            self.put(&word.to_ne_bytes());
        }
        self.put(frame.bytes);
        self.pad();
        let way = match frame.way {
            FrameDirection::In => 1u32,
            FrameDirection::Out => 2,
        };
        self.option(COMMENT, frame.comment.as_bytes());
        self.option(PACKET_FLAGS, &way.to_ne_bytes());
        self.end(PACKET)?;
        self.to.flush()
    }

    fn put(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(OPTION_MAX)];
        self.put(&code.to_ne_bytes());
        self.put(&(value.len() as u16).to_ne_bytes());
        self.put(value);
        self.pad();
    }

    /// Ends the options and the block, which leaves in one piece.
    fn end(&mut self, kind: u32) -> io::Result<()> {
        self.option(END, &[]);
        let len = (self.block.len() + 12) as u32;
        let mut whole = Vec::with_capacity(len as usize);
        whole.extend_from_slice(&kind.to_ne_bytes());
        whole.extend_from_slice(&len.to_ne_bytes());
        whole.append(&mut self.block);
        whole.extend_from_slice(&len.to_ne_bytes());
        self.to.write_all(&whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool;
    use std::process::Command;

    /// An ARP request, padded by nothing.
    const ARP: [u8; 42] = [
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 2, 0,
        0, 0, 0, 1, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 192, 0, 2, 2,
    ];

    fn frame(interface: u32, way: FrameDirection, comment: &str) -> Frame<'_> {
        Frame {
            interface,
            time: Duration::new(1_700_000_000, 123_456_789),
            way,
            bytes: &ARP,
            wire_bytes: 60,
            comment,
        }
    }

    #[test]
    fn tshark_reads_frames_interfaces_times_directions_and_comments() {
        if !tool::is_installed("tshark") {
            println!("skipped: needs tshark");
            return;
        }
        let path = std::env::temp_dir().join(format!("sluice-{}.pcapng", std::process::id()));
        let file = std::fs::File::create(&path).expect("a file");
        let mut writer = Writer::begin(file, "sluice", ["n3", "n6"]).expect("begin");
        writer
            .frame(&frame(0, FrameDirection::In, "one"))
            .expect("a frame");
        writer
            .frame(&frame(1, FrameDirection::Out, "zwei: ü, long enough"))
            .expect("a frame");
        let mut command = Command::new("tshark");
        command
            .arg("-n")
            .arg("-r")
            .arg(&path)
            .args(["-T", "fields", "-E", "separator=|"]);
        for field in [
            "frame.interface_name",
            "frame.time_epoch",
            "frame.cap_len",
            "frame.len",
            "frame.packet_flags_direction",
            "frame.comment",
        ] {
            command.args(["-e", field]);
        }
        let text = tool::run(&mut command).expect("tshark reads it");
        let _ = std::fs::remove_file(&path);
        let rows: Vec<Vec<&str>> = text.lines().map(|l| l.split('|').collect()).collect();
        assert_eq!(rows.len(), 2, "{text}");
        for (row, name, comment) in [(0, "n3", "one"), (1, "n6", "zwei: ü, long enough")] {
            let row = &rows[row];
            assert_eq!((row[0], row[5]), (name, comment), "{text}");
            assert_eq!(row[1], "1700000000.123456789");
            assert_eq!((row[2], row[3]), ("42", "60"));
        }
        assert_ne!(rows[0][4], rows[1][4], "{text}");
    }
}
