//! Addresses and sizes of the demo.
//!
//! Links lie in 198.18.0.0/15, which RFC 2544 keeps for laboratories; UEs in a private range. IPv6 is
//! of the prefix that RFC 3849 keeps for documentation.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV4};
use std::time::Duration;

use sluice_ids::Plmn;

/// Prefix length of N3, N4 and N6.
pub(super) const LINK_PREFIX: u8 = 24;
pub(super) const N3_UPF: Ipv4Addr = Ipv4Addr::new(198, 18, 3, 1);
pub(super) const N3_GNBS: [Ipv4Addr; 2] =
    [Ipv4Addr::new(198, 18, 3, 11), Ipv4Addr::new(198, 18, 3, 12)];
pub(super) const N4_UPF: Ipv4Addr = Ipv4Addr::new(198, 18, 4, 1);
pub(super) const N4_SMF: Ipv4Addr = Ipv4Addr::new(198, 18, 4, 2);
pub(super) const N2_AMF: Ipv4Addr = Ipv4Addr::new(198, 18, 2, 1);
pub(super) const N2_GNBS: [Ipv4Addr; 2] =
    [Ipv4Addr::new(198, 18, 2, 11), Ipv4Addr::new(198, 18, 2, 12)];
/// Address of the core's HTTP API, in its namespace.
pub(super) const CORE_API: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9471);
/// The one slice of the core.
pub(super) const SST: u8 = 1;
/// Of the key with which UEs conceal who they are.
pub(super) const HOME_KEY_ID: u8 = 1;
pub(super) const N6_UPF: Ipv4Addr = Ipv4Addr::new(198, 18, 6, 1);
/// The data network's server.
pub(super) const N6_SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 6, 2);

/// The same of IPv6, on N6 alone.
pub(super) const N6_UPF_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 6, 0, 0, 0, 0, 1);
pub(super) const N6_SERVER_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 6, 0, 0, 0, 0, 2);
pub(super) const LINK_PREFIX_V6: u8 = 64;
/// The server in both families.
pub(super) const SERVERS: [IpAddr; 2] = [IpAddr::V4(N6_SERVER), IpAddr::V6(N6_SERVER_V6)];

/// UEs' addresses; the first and the last stay free.
pub(super) const UE_POOL: Ipv4Addr = Ipv4Addr::new(10, 60, 0, 0);
pub(super) const UE_POOL_PREFIX: u8 = 24;
/// UEs' IPv6 prefixes, of 64 bits each, lie here.
pub(super) const UE_PREFIXES: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x60, 0, 0, 0, 0, 0);
pub(super) const UE_PREFIXES_PREFIX: u8 = 48;
/// Address and prefix of the first UE, where an SMF of the demo's own chooses; the others follow.
pub(super) const FIRST_UE: Ipv4Addr = Ipv4Addr::new(10, 60, 0, 2);
pub(super) const FIRST_UE_PREFIX: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x60, 1, 0, 0, 0, 0);
/// More would only wait for each other on a small machine.
pub const UES_MAX: u32 = 64;
/// The QoS flow of all UEs.
pub(super) const QFI: u8 = 9;
pub(super) const DNN: &str = "internet";
pub(super) const NETWORK_ACCESS: &str = "access";
pub(super) const NETWORK_CORE: &str = "core";

pub(super) const LINK_MTU: u16 = 1500;
/// With 44 bytes of outer headers (IPv4, UDP, GTP-U with PDU Session Container) a packet of a UE
/// fits into a frame of N3.
pub(super) const UE_MTU: u16 = 1400;

/// Largest TCP window in bytes. [`FLOWS_AT_ONCE`] flows then fit into the rings between the ports
/// and the kernel (2048 packets), so that TCP, which would otherwise push until something
/// overflows, loses nothing.
pub(super) const TCP_WINDOW_BYTES: u32 = 256 << 10;

pub(super) const PING_COUNT: u32 = 20;
pub(super) const PING_INTERVAL_S: f32 = 0.05;
/// During handovers, so that those of all UEs happen meanwhile: at least so many, and more with many UEs.
pub(super) const HANDOVER_PINGS: u32 = 200;
pub(super) const HANDOVER_PINGS_PER_UE: u32 = 25;
/// Interval so short that pings are under way whenever a UE moves.
pub(super) const HANDOVER_PING_INTERVAL_S: f32 = 0.02;
/// For the last answer.
pub(super) const PING_WAIT: Duration = Duration::from_secs(2);
/// For what waits at the UPF while a UE is called or moves, on a busy machine too.
pub(super) const PAGE_WAIT: Duration = Duration::from_secs(10);
/// The usual payload, and the one that fills the MTU behind 28 bytes of headers, of IPv6 48.
pub(super) const PING_SIZES: [[u16; 2]; 2] = [[56, 56], [UE_MTU - 28, UE_MTU - 48]];
/// For the answer to a Router Solicitation, and what the kernel makes of it.
pub(super) const ADDRESS_LIMIT: Duration = Duration::from_secs(5);

/// TCP flows at the same time.
pub(super) const FLOWS_AT_ONCE: usize = 6;

pub(super) const HTTP_PORT: u16 = 80;
pub(super) const HTTP_BYTES: usize = 6 << 20;

/// UEs that run iperf3; the others rest meanwhile.
pub(super) const IPERF_UES_MAX: usize = 4;
pub(super) const IPERF_PORT: u16 = 5201;
/// Offered load of each UE in a phase with iperf3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pace {
    /// A little above what is promised, because iperf3 stays a little below what it is told.
    pub(super) udp_bps: u64,
    /// None: as fast as it goes.
    pub(super) tcp_bps: Option<u64>,
}

impl Pace {
    const fn new(udp_bps: u64, tcp_bps: Option<u64>) -> Self {
        Self { udp_bps, tcp_bps }
    }

    /// Mbit/s of UDP that each receiver must see.
    pub(super) fn promised_mbps(self) -> f64 {
        self.udp_bps as f64 / 1.04e6
    }
}

/// From what a machine carries that has nothing else to do down to what any machine should.
pub(super) const PACES: [Pace; 6] = [
    Pace::new(52_000_000, None),
    Pace::new(52_000_000, None),
    Pace::new(26_000_000, Some(100_000_000)),
    Pace::new(10_400_000, Some(20_000_000)),
    LOWEST_PACE,
    LOWEST_PACE,
];
pub(super) const LOWEST_PACE: Pace = Pace::new(5_200_000, Some(5_000_000));
pub(super) const UDP_PAYLOAD_BYTES: u16 = 1300;
pub(super) const UDP_SOCKET_BYTES: u32 = 1 << 20;
pub(super) const UDP_TIME: Duration = Duration::from_secs(6);
pub(super) const UDP_WANTED_S: f64 = 5.0;
pub(super) const TCP_TIME: Duration = Duration::from_secs(3);

/// One packet in so many of the UEs' TCP and UDP is captured whole.
pub(super) const CAPTURE_ONE_IN: u16 = 64;

/// How many of so many UEs run iperf3.
pub(super) fn iperf_ues(ues: u32) -> usize {
    usize::try_from(ues).map_or(IPERF_UES_MAX, |ues| ues.min(IPERF_UES_MAX))
}

/// Port of the iperf3 server of the UE with number `index`.
pub(super) fn iperf_port(index: usize) -> u16 {
    IPERF_PORT.saturating_add(u16::try_from(index).unwrap_or(u16::MAX))
}

/// The network of the core: 001-01, which is kept for tests.
pub(super) fn plmn() -> Plmn {
    Plmn::new("001", "01").expect("digits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ue_has_an_address_inside_the_pool() {
        let mask = u32::MAX << (32 - u32::from(UE_POOL_PREFIX));
        let last = FIRST_UE.to_bits() + UES_MAX - 1;
        assert_eq!(last & mask, UE_POOL.to_bits());
        let last = FIRST_UE_PREFIX.to_bits() + (u128::from(UES_MAX) << 64);
        let prefix = last >> (128 - u32::from(UE_PREFIXES_PREFIX));
        let pool = UE_PREFIXES.to_bits() >> (128 - u32::from(UE_PREFIXES_PREFIX));
        assert_eq!(prefix, pool);
    }

    #[test]
    fn a_packet_of_a_ue_fits_into_n3_with_its_tunnel() {
        const OUTER: u16 = 20 + 8 + 16;
        const { assert!(UE_MTU + OUTER <= LINK_MTU) };
        const { assert!(UDP_PAYLOAD_BYTES + 28 <= UE_MTU) };
    }
}
