//! Address resolution for IPv4 over Ethernet (RFC 826).

use crate::eth::MacAddr;
use core::fmt;
use core::net::Ipv4Addr;

/// Octets of an IPv4-over-Ethernet packet.
pub const PACKET_LEN: usize = 28;

/// Hardware type Ethernet, protocol type IPv4, address lengths 6 and 4.
const PREFIX: [u8; 6] = [0x00, 0x01, 0x08, 0x00, 6, 4];

/// What an ARP packet wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Who has the target address?
    Request,
    /// The sender has it.
    Reply,
}

/// An ARP packet for IPv4 over Ethernet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arp {
    /// Request or reply.
    pub operation: Operation,
    /// The sender's MAC address.
    pub sender_mac: MacAddr,
    /// The sender's IPv4 address; 0.0.0.0 in a probe (RFC 5227).
    pub sender_ip: Ipv4Addr,
    /// The target's MAC address; meaningless in a request.
    pub target_mac: MacAddr,
    /// The target's IPv4 address.
    pub target_ip: Ipv4Addr,
}

/// Why bytes are no ARP packet that we read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArpError {
    /// Fewer than 28 octets.
    Truncated,
    /// Not IPv4 over Ethernet (RFC 826, ar$hrd, ar$pro, ar$hln, ar$pln).
    AddressFormat,
    /// Neither request nor reply (RFC 826, ar$op).
    Operation(u16),
}

impl fmt::Display for ArpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("ARP packet shorter than 28 octets"),
            Self::AddressFormat => f.write_str("ARP packet not for IPv4 over Ethernet (RFC 826)"),
            Self::Operation(op) => write!(f, "ARP operation {op} is neither request nor reply"),
        }
    }
}

impl core::error::Error for ArpError {}

impl Arp {
    /// Reads a packet; octets behind it (padding) are ignored.
    ///
    /// # Errors
    /// [`ArpError`], naming what is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, ArpError> {
        let packet: &[u8; PACKET_LEN] = bytes.first_chunk().ok_or(ArpError::Truncated)?;
        if packet[..6] != PREFIX {
            return Err(ArpError::AddressFormat);
        }
        let operation = match u16::from_be_bytes([packet[6], packet[7]]) {
            1 => Operation::Request,
            2 => Operation::Reply,
            other => return Err(ArpError::Operation(other)),
        };
        let (sender_mac, sender_ip) = read_pair(packet, 8);
        let (target_mac, target_ip) = read_pair(packet, 18);
        Ok(Self {
            operation,
            sender_mac,
            sender_ip,
            target_mac,
            target_ip,
        })
    }

    /// The question who has `target_ip`, to be sent to [`MacAddr::BROADCAST`].
    pub const fn request(sender_mac: MacAddr, sender_ip: Ipv4Addr, target_ip: Ipv4Addr) -> Self {
        let target_mac = MacAddr::ZERO;
        Self {
            operation: Operation::Request,
            sender_mac,
            sender_ip,
            target_mac,
            target_ip,
        }
    }

    /// The answer to this request from the station `mac`, to be sent to `self.sender_mac`.
    pub const fn reply_from(&self, mac: MacAddr) -> Self {
        Self {
            operation: Operation::Reply,
            sender_mac: mac,
            sender_ip: self.target_ip,
            target_mac: self.sender_mac,
            target_ip: self.sender_ip,
        }
    }

    /// Whether a sender announces its own address (RFC 5227, 3).
    pub fn is_gratuitous(&self) -> bool {
        self.sender_ip == self.target_ip
    }

    /// The packet as it goes behind the Ethernet header.
    pub fn to_bytes(&self) -> [u8; PACKET_LEN] {
        let operation: u16 = match self.operation {
            Operation::Request => 1,
            Operation::Reply => 2,
        };
        let mut out = [0; PACKET_LEN];
        out[..6].copy_from_slice(&PREFIX);
        out[6..8].copy_from_slice(&operation.to_be_bytes());
        write_pair(&mut out, 8, self.sender_mac, self.sender_ip);
        write_pair(&mut out, 18, self.target_mac, self.target_ip);
        out
    }
}

/// A MAC and an IPv4 address at `at`, which is 8 or 18.
#[inline]
fn read_pair(packet: &[u8; PACKET_LEN], at: usize) -> (MacAddr, Ipv4Addr) {
    let mut mac = [0; 6];
    mac.copy_from_slice(&packet[at..at + 6]);
    let mut ip = [0; 4];
    ip.copy_from_slice(&packet[at + 6..at + 10]);
    (MacAddr(mac), Ipv4Addr::from(ip))
}

/// The inverse of [`read_pair`].
#[inline]
fn write_pair(packet: &mut [u8; PACKET_LEN], at: usize, mac: MacAddr, ip: Ipv4Addr) {
    packet[at..at + 6].copy_from_slice(&mac.0);
    packet[at + 6..at + 10].copy_from_slice(&ip.octets());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REQUEST: [u8; PACKET_LEN] = [
        0, 1, 8, 0, 6, 4, 0, 1, // Ethernet, IPv4, 6, 4, request
        2, 0, 0, 0, 0, 1, 10, 0, 0, 1, // sender
        0, 0, 0, 0, 0, 0, 10, 0, 0, 2, // target
    ];

    #[test]
    fn a_request_reads_and_writes_as_in_rfc_826() {
        let me = MacAddr([2, 0, 0, 0, 0, 1]);
        let arp = Arp::request(me, Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        assert_eq!(arp.to_bytes(), REQUEST);
        assert_eq!(Arp::parse(&REQUEST), Ok(arp));
        assert!(!arp.is_gratuitous());
    }

    #[test]
    fn a_reply_turns_the_request_round() {
        let other = MacAddr([2, 0, 0, 0, 0, 2]);
        let reply = Arp::parse(&REQUEST).unwrap().reply_from(other);
        assert_eq!(reply.operation, Operation::Reply);
        assert_eq!(
            (reply.sender_mac, reply.sender_ip),
            (other, Ipv4Addr::new(10, 0, 0, 2))
        );
        assert_eq!(reply.target_mac, MacAddr([2, 0, 0, 0, 0, 1]));
        assert_eq!(reply.target_ip, Ipv4Addr::new(10, 0, 0, 1));
    }

    #[test]
    fn other_hardware_and_operations_are_refused_by_name() {
        let mut bytes = REQUEST;
        bytes[1] = 6;
        assert_eq!(Arp::parse(&bytes), Err(ArpError::AddressFormat));
        bytes = REQUEST;
        bytes[7] = 3;
        assert_eq!(Arp::parse(&bytes), Err(ArpError::Operation(3)));
        assert_eq!(Arp::parse(&REQUEST[..27]), Err(ArpError::Truncated));
    }

    proptest! {
        #[test]
        fn what_parses_writes_back_the_same(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..48), plausible in any::<bool>(),
        ) {
            if plausible && bytes.len() >= 8 {
                bytes[..8].copy_from_slice(&REQUEST[..8]);
            }
            if let Ok(arp) = Arp::parse(&bytes) {
                prop_assert_eq!(&arp.to_bytes()[..], &bytes[..PACKET_LEN]);
            }
        }
    }
}
