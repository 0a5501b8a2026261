//! Writer of pcapng captures (draft-ietf-opsawg-pcapng) with named interfaces and comments.
//!
//! In the byte order of this machine, times in nanoseconds.

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use std::io::{self, Write};
use std::time::Duration;

/// An option's length has 16 bits.
const OPTION_MAX: usize = 65_535;
/// Direction of a frame in the flags option.
const RECEIVED: u32 = 1;
const SENT: u32 = 2;

/// Which way a frame went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameDirection {
    /// Received.
    In,
    /// Sent.
    Out,
}

/// Link layer of an interface's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// Ethernet frames.
    Ethernet,
    /// Messages without the layers below, as Wireshark exports them ([`exported_pdu`]).
    ExportedPdu,
}

/// Tags in front of an exported message (epan/exported_pdu.h of Wireshark).
const TAG_DISSECTOR_NAME: u16 = 12;
const TAG_END: u16 = 0;

/// A message, and the name of the dissector that Wireshark is to read it by: `nas-5gs`, `ngap`, `pfcp`.
pub fn exported_pdu(dissector: &str, message: &[u8]) -> Vec<u8> {
    // Tags are padded to four octets, which their length counts.
    let length = dissector.len().next_multiple_of(4);
    let mut octets = Vec::with_capacity(8 + length + message.len());
    octets.extend(TAG_DISSECTOR_NAME.to_be_bytes());
    octets.extend(u16::try_from(length).unwrap_or(0).to_be_bytes());
    octets.extend(dissector.as_bytes());
    octets.resize(4 + length, 0);
    octets.extend(TAG_END.to_be_bytes());
    octets.extend([0, 0]);
    octets.extend(message);
    octets
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
    /// Captured octets.
    pub bytes: &'a [u8],
    /// Length on the wire.
    pub wire_bytes: u32,
    /// Comment of the frame.
    pub comment: &'a str,
}

/// A capture being written. Each frame is handed on at once.
pub struct Writer<W: Write>(PcapNgWriter<W>);

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
        let ethernet = interfaces
            .into_iter()
            .map(|name| (name, LinkType::Ethernet));
        Self::begin_with(to, application, ethernet)
    }

    /// The same, with what the frames of each are.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn begin_with<'n>(
        to: W,
        application: &str,
        interfaces: impl IntoIterator<Item = (&'n str, LinkType)>,
    ) -> io::Result<Self> {
        let application = application.to_owned().into();
        let section = SectionHeaderBlock {
            endianness: Endianness::native(),
            options: vec![SectionHeaderOption::UserApplication(application)],
            ..SectionHeaderBlock::default()
        };
        let mut writer = PcapNgWriter::with_section_header(to, section).map_err(io_error)?;
        writer.get_mut().flush()?;
        let mut this = Self(writer);
        for (name, link) in interfaces {
            this.add_interface(name, link)?;
        }
        Ok(this)
    }

    /// One more interface, behind those that there are.
    ///
    /// # Errors
    /// Those of the file.
    pub fn add_interface(&mut self, name: &str, link: LinkType) -> io::Result<()> {
        // No limit of what is captured; times in 10^-9 s.
        let interface = InterfaceDescriptionBlock {
            linktype: match link {
                LinkType::Ethernet => DataLink::ETHERNET,
                LinkType::ExportedPdu => DataLink::WIRESHARK_UPPER_PDU,
            },
            snaplen: 0,
            options: vec![
                InterfaceDescriptionOption::IfName(name.into()),
                InterfaceDescriptionOption::IfTsResol(9),
            ],
        };
        self.0.write_pcapng_block(interface).map_err(io_error)?;
        self.0.get_mut().flush()
    }

    /// Writes a frame.
    ///
    /// # Errors
    /// Those of the file.
    pub fn frame(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        let captured = u32::try_from(frame.bytes.len()).unwrap_or(u32::MAX);
        let end = frame.comment.floor_char_boundary(OPTION_MAX);
        let way = match frame.way {
            FrameDirection::In => RECEIVED,
            FrameDirection::Out => SENT,
        };
        let packet = EnhancedPacketBlock {
            interface_id: frame.interface,
            timestamp: frame.time,
            original_len: frame.wire_bytes.max(captured),
            data: frame.bytes.into(),
            options: vec![
                EnhancedPacketOption::Comment(frame.comment[..end].into()),
                EnhancedPacketOption::Flags(way),
            ],
        };
        self.0.write_pcapng_block(packet).map_err(io_error)?;
        self.0.get_mut().flush()
    }
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
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
    fn tshark_reads_messages_by_the_dissector_that_they_name() {
        if !tool::is_installed("tshark") {
            println!("skipped: needs tshark");
            return;
        }
        let path = std::env::temp_dir().join(format!("sluice-pdu-{}.pcapng", std::process::id()));
        let file = std::fs::File::create(&path).expect("a file");
        let interfaces = [("n1", LinkType::ExportedPdu), ("n3", LinkType::Ethernet)];
        let mut writer = Writer::begin_with(file, "sluice", interfaces).expect("begin");
        // Registration Complete (TS 24.501, 8.2.8), and a Heartbeat Request (TS 29.244, 7.4.2.1).
        let heartbeat = [0x20, 1, 0, 12, 0, 0, 1, 0, 0, 96, 0, 4, 0xe0, 0, 0, 0];
        for (name, message) in [("nas-5gs", &[0x7e, 0, 0x43][..]), ("pfcp", &heartbeat)] {
            let octets = exported_pdu(name, message);
            let one = Frame {
                bytes: &octets,
                wire_bytes: 0,
                ..frame(0, FrameDirection::In, "")
            };
            writer.frame(&one).expect("a frame");
        }
        writer
            .frame(&frame(1, FrameDirection::Out, ""))
            .expect("a frame");
        let mut command = Command::new("tshark");
        command.arg("-n").arg("-r").arg(&path);
        command.args(["-T", "fields", "-E", "separator=|"]);
        for field in [
            "frame.protocols",
            "nas_5gs.mm.message_type",
            "pfcp.msg_type",
        ] {
            command.args(["-e", field]);
        }
        let text = tool::run(&mut command).expect("tshark reads it");
        let _ = std::fs::remove_file(&path);
        let rows: Vec<_> = text.lines().collect();
        let [nas, pfcp, arp] = rows[..] else {
            panic!("{text}");
        };
        assert!(nas.starts_with("exported_pdu:nas-5gs|"), "{text}");
        assert!(nas.contains("|67|") || nas.contains("|0x43|"), "{text}");
        assert!(
            pfcp.starts_with("exported_pdu:pfcp|") && pfcp.ends_with("|1"),
            "{text}"
        );
        assert!(arp.starts_with("eth:ethertype:arp|"), "{text}");
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
