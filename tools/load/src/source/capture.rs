//! Packet lengths and spacing from a capture file (pcap or pcapng).
//!
//! Nothing else of it is sent: addresses and contents stay where they are.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::{Block, PcapNgReader};

use super::{Plan, Sizes};
use crate::LoadError;
use crate::source::IP_BYTES_MAX;
use crate::stamp::IP_BYTES_MIN;

/// First octets of a pcapng file.
const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// More packets than this are not read: 24 MB.
const PACKETS_MAX: usize = 2_000_000;

/// The packets of a capture, as far as they matter here.
#[derive(Clone, Debug, PartialEq)]
pub struct Capture {
    /// Lengths of IP packets, in octets.
    pub ip_bytes: Arc<[u16]>,
    /// When they came, in nanoseconds from the first, ascending.
    pub offsets_ns: Arc<[u64]>,
    /// Packets that were too short to carry a stamp, and are sent as long as that takes.
    pub lengthened: u64,
    /// Packets too long, and sent as long as can be.
    pub shortened: u64,
}

impl Capture {
    /// Reads a file; frames that carry no IP are passed over.
    ///
    /// # Errors
    /// If it cannot be read, is no capture, or has no IP packets.
    pub fn read(path: &Path) -> Result<Self, LoadError> {
        let wrong = |what: String| LoadError::Capture {
            file: path.display().to_string(),
            what,
        };
        let mut file = File::open(path).map_err(|e| wrong(e.to_string()))?;
        let mut magic = [0; 4];
        file.read_exact(&mut magic)
            .map_err(|_| wrong("not a capture: shorter than four octets".to_owned()))?;
        let whole = magic.chain(file);
        let packets = match magic {
            PCAPNG => pcapng(whole),
            _ => pcap(whole),
        };
        packets.and_then(Self::from_packets).map_err(|what| {
            wrong(format!(
                "{what}; expected a pcap or pcapng file with IP packets"
            ))
        })
    }

    fn from_packets(packets: Vec<(u64, u16)>) -> Result<Self, String> {
        let first = packets.first().ok_or("no IP packets")?.0;
        let mut latest = 0;
        // Captures of several queues may be a little out of order; time here does not go back.
        let offsets = packets.iter().map(|(ns, _)| {
            latest = ns.saturating_sub(first).max(latest);
            latest
        });
        let offsets_ns = offsets.collect();
        let fitting = |bytes: &u16| (*bytes).clamp(IP_BYTES_MIN, IP_BYTES_MAX);
        let lengths = || packets.iter().map(|(_, bytes)| bytes);
        Ok(Self {
            ip_bytes: lengths().map(fitting).collect(),
            offsets_ns,
            lengthened: lengths().filter(|b| **b < IP_BYTES_MIN).count() as u64,
            shortened: lengths().filter(|b| **b > IP_BYTES_MAX).count() as u64,
        })
    }

    /// Packet lengths of the capture.
    pub fn sizes(&self) -> Sizes {
        Sizes::Recorded(self.ip_bytes.clone())
    }

    /// Times of the capture's packets, repeated. From the last packet to the first of the next round the distance is
    /// the mean distance.
    pub fn plan(&self, duration_ns: u64) -> Plan {
        let span = self.offsets_ns.last().copied().unwrap_or(0);
        let gaps = self.offsets_ns.len().saturating_sub(1).max(1) as u64;
        Plan::Recorded {
            offsets_ns: self.offsets_ns.clone(),
            round_ns: (span + span / gaps).max(1),
            duration_ns,
        }
    }
}

/// Times in nanoseconds, and lengths.
type Packets = Result<Vec<(u64, u16)>, String>;

fn pcap(file: impl Read) -> Packets {
    let mut reader = PcapReader::new(file).map_err(|e| e.to_string())?;
    let link = reader.header().datalink;
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let packet = packet.map_err(|e| e.to_string())?;
        take(
            &mut packets,
            link,
            packet.timestamp.as_nanos(),
            &packet.data,
        );
        if packets.len() == PACKETS_MAX {
            break;
        }
    }
    Ok(packets)
}

fn pcapng(file: impl Read) -> Packets {
    let mut reader = PcapNgReader::new(file).map_err(|e| e.to_string())?;
    let mut packets = Vec::new();
    let mut links = Vec::new();
    while let Some(block) = reader.next_block() {
        match block.map_err(|e| e.to_string())? {
            Block::InterfaceDescription(interface) => links.push(interface.linktype),
            Block::EnhancedPacket(packet) => {
                if let Some(link) = links.get(packet.interface_id as usize) {
                    take(
                        &mut packets,
                        *link,
                        packet.timestamp.as_nanos(),
                        &packet.data,
                    );
                }
            }
            _ => {}
        }
        if packets.len() == PACKETS_MAX {
            break;
        }
    }
    Ok(packets)
}

fn take(packets: &mut Vec<(u64, u16)>, link: DataLink, at_ns: u128, frame: &[u8]) {
    if let Some(bytes) = ip_bytes(link, frame) {
        packets.push((u64::try_from(at_ns).unwrap_or(u64::MAX), bytes));
    }
}

/// Length in the IP header: a capture may have cut the packet off.
fn ip_bytes(link: DataLink, frame: &[u8]) -> Option<u16> {
    let packet = match link {
        DataLink::ETHERNET => behind_ethernet(frame)?,
        DataLink::RAW | DataLink::IPV4 | DataLink::IPV6 => frame,
        _ => return None,
    };
    let word = |at: usize| Some(u16::from_be_bytes(*packet.get(at..)?.first_chunk()?));
    match packet.first()? >> 4 {
        4 => word(2),
        6 => word(4)?.checked_add(40),
        _ => None,
    }
}

fn behind_ethernet(frame: &[u8]) -> Option<&[u8]> {
    let mut at = 12;
    loop {
        let ethertype = u16::from_be_bytes(*frame.get(at..)?.first_chunk()?);
        at += 2;
        match ethertype {
            0x8100 | 0x88a8 => at += 2,
            0x0800 | 0x86dd => return frame.get(at..),
            _ => return None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;
    use pcap_file::pcap::{PcapPacket, PcapWriter};
    use std::time::Duration;

    fn ipv4_frame(total: u16) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend([0x08, 0x00, 0x45, 0]);
        frame.extend(total.to_be_bytes());
        frame.resize(60, 0);
        frame
    }

    fn file(frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
        let mut writer = PcapWriter::new(Vec::new()).unwrap();
        for (us, frame) in frames {
            let at = Duration::from_micros(*us);
            let packet = PcapPacket::new(at, frame.len() as u32, frame);
            writer.write_packet(&packet).unwrap();
        }
        writer.into_writer()
    }

    #[test]
    fn lengths_and_spacing_are_those_of_the_file() {
        let arp = [&[0; 12][..], &[0x08, 0x06], &[0; 28]].concat();
        let mut tagged = ipv4_frame(700);
        tagged.splice(12..12, [0x81, 0, 0, 5]);
        let frames = [
            (1000, ipv4_frame(1500)),
            (1010, arp),
            (1030, tagged),
            (1040, ipv4_frame(40)),
        ];
        let packets = pcap(&file(&frames)[..]).unwrap();
        let capture = Capture::from_packets(packets).unwrap();
        assert_eq!(capture.ip_bytes[..], [1500, 700, IP_BYTES_MIN]);
        assert_eq!(capture.offsets_ns[..], [0, 30_000, 40_000]);
        assert_eq!((capture.lengthened, capture.shortened), (1, 0));
        let Plan::Recorded { round_ns, .. } = capture.plan(1) else {
            panic!("another plan");
        };
        assert_eq!(round_ns, 60_000);
    }

    #[test]
    fn what_is_no_capture_is_refused_by_name() {
        let file = std::env::temp_dir().join(format!("sluice-capture-{}", std::process::id()));
        for bytes in [
            &b"no"[..],
            b"no capture at all",
            &[0x0a, 0x0d, 0x0d, 0x0a, 1],
        ] {
            std::fs::write(&file, bytes).unwrap();
            let error = Capture::read(&file).unwrap_err().to_string();
            assert!(error.contains("sluice-capture"), "{error}");
        }
        std::fs::remove_file(&file).unwrap();
        assert!(Capture::read(&file).is_err());
    }
}
