//! Forms of the benchmarks' packets: length, family, headers, ports.

use serde::{Deserialize, Serialize};
use sluice_wire::gtpu::{OUTER_IPV4_LEN, OUTER_IPV4_PLAIN_LEN};
use sluice_wire::layout::eth;

/// Octets of the inner packet.
pub const INNER_LEN: usize = 64;
/// The same where most of a packet is payload.
const LONG_INNER_LEN: usize = 1_400;
/// Octets of the usual outer header: IPv4, UDP, GTP-U with a PDU Session Container.
pub const OUTER_LEN: usize = OUTER_IPV4_LEN;
/// The usual one of UEs.
pub const UE_PORT: u16 = 40_000;

/// Which way a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Direction {
    /// From the gNB to the data network.
    Uplink,
    /// From the data network to the gNB.
    Downlink,
}

impl Direction {
    pub const BOTH: [Self; 2] = [Self::Uplink, Self::Downlink];
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    /// Octets of the inner packet.
    pub inner_len: usize,
    /// The inner packet has a UDP checksum: not where sources write over its end.
    pub inner_sum: bool,
    /// The inner packet is of IPv6.
    pub is_ipv6: bool,
    /// In tunnels with a PDU Session Container.
    pub container: bool,
    /// Tunnels of the uplink have a UDP checksum, as kernel sockets send them.
    pub outer_sum: bool,
    pub ue_port: u16,
    /// The data network sees a public address and port.
    pub is_translated: bool,
    /// Whether the last octets are the packet's number in its flow.
    pub is_numbered: bool,
}

impl Form {
    pub const USUAL: Self = Self {
        inner_len: INNER_LEN,
        inner_sum: true,
        is_ipv6: false,
        container: true,
        outer_sum: false,
        ue_port: UE_PORT,
        is_translated: false,
        is_numbered: false,
    };
    pub const NUMBERED: Self = Self {
        inner_sum: false,
        is_numbered: true,
        ..Self::USUAL
    };
    pub const BARE: Self = Self {
        container: false,
        ..Self::USUAL
    };
    pub const CHECKSUM: Self = Self {
        outer_sum: true,
        ..Self::USUAL
    };
    pub const LONG_CHECKSUM: Self = Self {
        inner_len: LONG_INNER_LEN,
        inner_sum: false,
        ..Self::CHECKSUM
    };
    pub const IPV6: Self = Self {
        is_ipv6: true,
        ..Self::USUAL
    };

    /// Of the UE's port with this number, on N6 by its public address.
    pub const fn translated(number: u16) -> Self {
        Self {
            ue_port: UE_PORT + number,
            is_translated: true,
            ..Self::USUAL
        }
    }

    /// Octets of the outer header.
    pub const fn outer_len(self) -> usize {
        match self.container {
            true => OUTER_LEN,
            false => OUTER_IPV4_PLAIN_LEN,
        }
    }

    /// Octets of a frame as it comes in.
    pub const fn input_len(self, direction: Direction) -> usize {
        let outer_len = match direction {
            Direction::Uplink => self.outer_len(),
            Direction::Downlink => 0,
        };
        eth::LEN + outer_len + self.inner_len
    }
}
