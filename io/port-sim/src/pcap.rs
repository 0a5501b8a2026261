//! Capture files, in the classic pcap format with nanoseconds.

use pcap_file::pcap::{PcapHeader, PcapPacket};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};
use std::io::{self, Write};
use std::time::Duration;

const SNAP_LEN: u32 = 262_144;

/// Writes Ethernet frames as a capture file.
#[derive(Debug)]
pub struct PcapWriter<W: Write>(pcap_file::pcap::PcapWriter<W>);

impl<W: Write> PcapWriter<W> {
    /// Writes the file header.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn new(writer: W) -> io::Result<Self> {
        let header = PcapHeader {
            snaplen: SNAP_LEN,
            datalink: DataLink::ETHERNET,
            ts_resolution: TsResolution::NanoSecond,
            endianness: Endianness::Little,
            ..PcapHeader::default()
        };
        let writer = pcap_file::pcap::PcapWriter::with_header(writer, header);
        Ok(Self(writer.map_err(io_error)?))
    }

    /// Writes a frame, seen at `at_ns` since the beginning of time.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&mut self, at_ns: u64, frame: &[u8]) -> io::Result<()> {
        let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        let captured = &frame[..frame.len().min(SNAP_LEN as usize)];
        let packet = PcapPacket::new(Duration::from_nanos(at_ns), length, captured);
        self.0.write_packet(&packet).map(|_| ()).map_err(io_error)
    }

    /// Flushes, and gives the writer back.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(self) -> io::Result<W> {
        let mut writer = self.0.into_writer();
        writer.flush()?;
        Ok(writer)
    }
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
