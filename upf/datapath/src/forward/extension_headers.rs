//! Extension headers that a packet keeps from one tunnel into the next.
//!
//! A node that only relays, between two ends of N3 and N9, passes the PDU Session Container on as it is (TS 29.281,
//! 5.2.1; TS 29.244, 8.2.64), unless a QER marks the packet anew. By N4-u none goes on: the container is of N3 and N9
//! (TS 29.281, 5.2.2.7), and a CP function takes such a packet for another.

use crate::limits::RELAYED_EXTENSIONS_LEN;
use crate::meta::{Meta, NO_QFI};
use crate::session::rule::{Flags, Head};
use arrayvec::ArrayVec;
use sluice_port::Packet;
use sluice_wire::gtpu::{ExtensionType, Extensions, HEADER_LEN, LONG_HEADER_LEN};
use sluice_wire::ipv6::{Ipv6, is_ipv6};
use sluice_wire::layout::eth;
use sluice_wire::udp;

/// What stands between the first 8 octets of a GTP-U header and the inner packet.
pub type ExtHeaders = ArrayVec<u8, RELAYED_EXTENSIONS_LEN>;

/// True if a packet that goes from tunnel to tunnel has a container to be passed on.
#[inline(always)]
pub fn keeps(head: Head, meta: &Meta) -> bool {
    meta.qfi != NO_QFI && !head.flags.has_any(Flags::MARK_QFI.with(Flags::N4U))
}

/// The extension headers that a relay passes on, of a packet whose outer header was just removed:
/// it still lies before the packet.
#[cold]
pub fn extensions<P: Packet>(packet: &mut P, meta: &Meta) -> ExtHeaders {
    let outer_len = usize::from(meta.inner_at);
    if meta.qfi == NO_QFI || packet.push_front(outer_len).is_err() {
        return ExtHeaders::new();
    }
    let outer = packet.data().get(..outer_len).unwrap_or_default();
    let kept = gtpu_of(outer).map_or_else(ExtHeaders::new, relayed);
    // What was just pushed can be pulled.
    let _ = packet.pull_front(outer_len);
    kept
}

/// The GTP-U header behind Ethernet, IP and UDP.
fn gtpu_of(outer: &[u8]) -> Option<&[u8]> {
    let l3 = outer.get(eth::payload_at(outer)?..)?;
    if is_ipv6(l3) {
        let ip = Ipv6::parse_quoted(l3).ok()?;
        return ip.upper_layer().payload.get(udp::HEADER_LEN..);
    }
    let ip_len = usize::from(l3.first()? & 0x0f) * 4;
    l3.get(ip_len + udp::HEADER_LEN..)
}

/// The chain was walked once at *parse*, so it is sound.
fn relayed(gtpu: &[u8]) -> ExtHeaders {
    let mut kept = ExtHeaders::new();
    let (Some(first), Some(chain)) = (gtpu.get(LONG_HEADER_LEN - 1), gtpu.get(LONG_HEADER_LEN..))
    else {
        return kept;
    };
    // Sequence and N-PDU number are this tunnel's own; then the type of what follows.
    kept.extend([0; LONG_HEADER_LEN - HEADER_LEN]);
    let passes = Extensions::new(ExtensionType(*first), chain)
        .map_while(Result::ok)
        .filter(|e| e.ty.is_relayed());
    for extension in passes {
        let len = extension.content.len() + 2;
        if kept.remaining_capacity() < len {
            break;
        }
        if let Some(next) = kept.last_mut() {
            *next = extension.ty.0;
        }
        kept.push((len / 4) as u8);
        kept.extend(extension.content.iter().copied());
        kept.push(ExtensionType::NONE.0);
    }
    if kept.len() > LONG_HEADER_LEN - HEADER_LEN {
        kept
    } else {
        ExtHeaders::new()
    }
}
