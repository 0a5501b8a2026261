//! Flow description of an SDF filter: an IPFilterRule (RFC 6733, 4.3.1) as TS 29.212, 5.4.2 restricts it.
//!
//! ```text
//! permit out PROTOCOL from REMOTE [PORTS] to LOCAL [PORTS]
//! PROTOCOL  ip, or 0 to 255
//! REMOTE    any | assigned | IPv4[/len] | IPv6[/len]      LOCAL as well
//! PORTS     a port, a range a-b, or a list of them with commas
//! ```
//!
//! The text is of the downlink: REMOTE is its source, LOCAL, the UE's side, its destination. Whoever
//! matches uplink packets exchanges them (TS 29.244, 5.2.1A.2A).

mod error;
mod parse;

pub use error::FlowDescriptionError;

use arrayvec::ArrayVec;
use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

/// The most ranges that a list of ports has.
pub const MAX_PORT_RANGES: usize = 16;

/// Ranges of ports, both ends included. No range is no condition.
pub type Ports = ArrayVec<(u16, u16), MAX_PORT_RANGES>;

/// Which packets a flow description lets through.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FlowDescription {
    /// The protocol; none for `ip`, which is all of them.
    pub protocol: Option<u8>,
    /// The address of the far end.
    pub remote: AddressMatch,
    /// Ports of the far end.
    pub remote_ports: Ports,
    /// The address of the UE's end.
    pub local: AddressMatch,
    /// Ports of the UE's end.
    pub local_ports: Ports,
}

/// Which addresses are meant. Bits behind the prefix are 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AddressMatch {
    /// `any` or `assigned`: of both families. That an address is the UE's is checked elsewhere.
    Any,
    /// An IPv4 prefix.
    V4 {
        /// Its first address.
        address: Ipv4Addr,
        /// Its length, 0 to 32.
        len: u8,
    },
    /// An IPv6 prefix.
    V6 {
        /// Its first address.
        address: Ipv6Addr,
        /// Its length, 0 to 128.
        len: u8,
    },
}

impl AddressMatch {
    /// The IPv4 prefix that `address` is in; `len` is at most 32.
    fn v4(address: Ipv4Addr, len: u8) -> Self {
        let host_bits = u32::MAX.checked_shr(len.into()).unwrap_or(0);
        Self::V4 {
            address: Ipv4Addr::from_bits(address.to_bits() & !host_bits),
            len,
        }
    }

    /// The IPv6 prefix that `address` is in; `len` is at most 128.
    fn v6(address: Ipv6Addr, len: u8) -> Self {
        let host_bits = u128::MAX.checked_shr(len.into()).unwrap_or(0);
        Self::V6 {
            address: Ipv6Addr::from_bits(address.to_bits() & !host_bits),
            len,
        }
    }

    /// Whether no packet can meet both, since a packet's addresses are of one family.
    const fn excludes_family_of(&self, other: &Self) -> bool {
        matches!(
            (self, other),
            (Self::V4 { .. }, Self::V6 { .. }) | (Self::V6 { .. }, Self::V4 { .. })
        )
    }
}

/// The canonical text: `any` as REMOTE, `assigned` as LOCAL, no length behind a whole address.
impl fmt::Display for FlowDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("permit out ")?;
        match self.protocol {
            Some(protocol) => write!(f, "{protocol}")?,
            None => f.write_str("ip")?,
        }
        f.write_str(" from ")?;
        write_end(f, &self.remote, "any", &self.remote_ports)?;
        f.write_str(" to ")?;
        write_end(f, &self.local, "assigned", &self.local_ports)
    }
}

fn write_end(
    f: &mut fmt::Formatter<'_>,
    address: &AddressMatch,
    any: &str,
    ports: &Ports,
) -> fmt::Result {
    match address {
        AddressMatch::Any => f.write_str(any)?,
        AddressMatch::V4 { address, len: 32 } => write!(f, "{address}")?,
        AddressMatch::V4 { address, len } => write!(f, "{address}/{len}")?,
        AddressMatch::V6 { address, len: 128 } => write!(f, "{address}")?,
        AddressMatch::V6 { address, len } => write!(f, "{address}/{len}")?,
    }
    for (n, (first, last)) in ports.iter().enumerate() {
        f.write_str(if n == 0 { " " } else { "," })?;
        write!(f, "{first}")?;
        if first != last {
            write!(f, "-{last}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
