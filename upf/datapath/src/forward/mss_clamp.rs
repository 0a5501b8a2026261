//! MSS clamp: TCP connections are told by their SYNs what fits the way through an interface.
//!
//! A SYN, with ACK or without, that comes or leaves by an interface which clamps offers no larger segments than fit
//! there. So packets that may not be cut need not be dropped and told of by ICMP, which many networks lose.

use core::num::NonZeroU16;
use core::ops::Range;
use sluice_wire::ipv4::{Ipv4, Protocol};
use sluice_wire::ipv6::{Ipv6, is_ipv6};
use sluice_wire::layout::ipv4::VERSION_4_NO_OPTIONS;
use sluice_wire::layout::{ipv4, ipv6};
use sluice_wire::tcp;

/// What an interface clamps to: the longest IP packet, in bytes, that TCP segments are to make.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MssClamp {
    packet_bytes: NonZeroU16,
}

impl MssClamp {
    /// Headers without options (RFC 9293, 3.7.1).
    const IPV4_OVERHEAD: u16 = (ipv4::LEN + tcp::LEN) as u16;
    const IPV6_OVERHEAD: u16 = (ipv6::LEN + tcp::LEN) as u16;

    /// So that packets have at most so many bytes. `None` if no segment had room for an octet of either family.
    pub fn of_packets(packet_bytes: u16) -> Option<Self> {
        let packet_bytes = NonZeroU16::new(packet_bytes)?;
        (packet_bytes.get() > Self::IPV6_OVERHEAD).then_some(Self { packet_bytes })
    }

    /// So that segments over IPv4 have at most so many bytes, and those over IPv6 20 fewer.
    pub fn of_ipv4_segments(bytes: u16) -> Option<Self> {
        Self::of_packets(bytes.checked_add(Self::IPV4_OVERHEAD)?)
    }

    /// Largest segment over IPv4, in bytes.
    pub fn ipv4_bytes(self) -> u16 {
        self.packet_bytes.get() - Self::IPV4_OVERHEAD
    }

    /// Largest segment over IPv6, in bytes.
    pub fn ipv6_bytes(self) -> u16 {
        self.packet_bytes.get() - Self::IPV6_OVERHEAD
    }
}

/// What a packet is clamped to that comes by one interface and leaves by another: the lower.
pub fn of_way(from: Option<MssClamp>, to: Option<MssClamp>) -> Option<MssClamp> {
    match (from, to) {
        (Some(from), Some(to)) => Some(from.min(to)),
        (from, to) => from.or(to),
    }
}

/// Lowers what a SYN offers. True if it offered more. Packets that are none, and what is broken, are left alone.
#[cold]
pub fn clamp(inner: &mut [u8], to: MssClamp) -> bool {
    let Some((segment, most_bytes)) = segment(inner, to) else {
        return false;
    };
    let segment = inner.get_mut(segment);
    segment.is_some_and(|segment| tcp::clamp_mss(segment, most_bytes))
}

/// Where the TCP segment of a packet stands, if it shows its header, and how large it may offer others to be.
fn segment(inner: &[u8], to: MssClamp) -> Option<(Range<usize>, u16)> {
    if is_ipv6(inner) {
        let ip = Ipv6::parse(inner).ok()?;
        let upper = ip.upper_layer();
        let end = ip.total_len();
        let at = end.checked_sub(upper.payload.len())?;
        let is_tcp = upper.protocol == Protocol::TCP && !upper.is_later_fragment;
        return is_tcp.then_some((at..end, to.ipv6_bytes()));
    }
    let ip = Ipv4::parse_unsummed(inner).ok()?;
    let is_tcp = ip.protocol() == Protocol::TCP && ip.fragment_offset() == 0;
    is_tcp.then_some((ip.header_len()..ip.total_len().into(), to.ipv4_bytes()))
}

/// True for a packet that may be a SYN: the fast path leaves it alone where some interface clamps. True too often
/// rather than never: of IPv4 without options as the header match asks for it, or of IPv6.
#[inline(always)]
pub fn may_be_syn(inner: &[u8]) -> bool {
    match inner.first() {
        Some(&VERSION_4_NO_OPTIONS) => {
            inner.get(ipv4::PROTOCOL) == Some(&Protocol::TCP.0)
                && inner.get(ipv4::LEN..).is_some_and(tcp::is_syn)
        }
        _ => may_be_ipv6_syn(inner),
    }
}

/// Not inlined: the loop's registers are for IPv4, which most packets are.
#[inline(never)]
fn may_be_ipv6_syn(inner: &[u8]) -> bool {
    Ipv6::parse(inner).is_ok_and(|ip| {
        let upper = ip.upper_layer();
        upper.protocol == Protocol::TCP && tcp::is_syn(upper.payload)
    })
}
