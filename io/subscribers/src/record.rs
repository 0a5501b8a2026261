//! A subscriber as it is stored, and as the repository of the core takes it.

use std::net::Ipv4Addr;

use sluice_ids::{Dnn, Snssai, Supi, UpSecurity};
use sluice_security::{Credentials, Sqn};
use sluice_udr::DataNetwork;

/// A subscriber. Its keys do not print.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Who.
    pub supi: Supi,
    /// What its SIM has, and how it is authenticated.
    pub credentials: Credentials,
    /// Where its sequence numbers are.
    pub sqn: SqnState,
    /// What it may do.
    pub profile: Profile,
}

/// What a subscriber may do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Profile {
    /// Whether it may not register at all for now.
    pub barred: bool,
    /// UE AMBR, bits per second to and from the UE.
    pub ambr_bps: (u64, u64),
    /// Slices; at least one is a default one.
    pub slices: Vec<Slice>,
}

/// A subscribed slice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slice {
    /// Which.
    pub snssai: Snssai,
    /// Whether it is a default one.
    pub is_default: bool,
    /// Data networks in it; the first is its default one.
    pub networks: Vec<Network>,
}

/// What a subscriber may do in a data network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Network {
    /// Its name.
    pub dnn: Dnn,
    /// Whether sessions may be of the types IPv4, IPv6, IPv4v6.
    pub types: [bool; 3],
    /// Number of the default type (TS 24.501, 9.11.4.11): 1 to 3 in the order of `types`.
    pub default_type: u8,
    /// Session AMBR, bits per second to and from the UE.
    pub ambr_bps: (u64, u64),
    /// 5QI of the default flow.
    pub five_qi: u8,
    /// Priority of its ARP, 1 to 15.
    pub arp: u8,
    /// The UE's own IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// The UE's own /64 prefix.
    pub ipv6_prefix: Option<[u8; 8]>,
    /// How the user plane is to be protected; none leaves it to the SMF.
    pub up_security: Option<UpSecurity>,
}

/// Where the sequence numbers of a subscriber are (TS 33.102, C.1.1.3): their counting part is time in
/// seconds and a difference of its own, so it is only stored where time alone does not tell it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SqnState {
    /// The last one that had to be stored.
    pub last: Sqn,
    /// What is added to Unix time.
    pub difference_s: i64,
}

impl SqnState {
    /// The highest one used until now is `last`: the next ones are above it, and follow time.
    pub fn new(last: Sqn, unix_s: u64) -> Self {
        let difference_s = last.sequence() as i64 - unix_s as i64;
        Self { last, difference_s }
    }

    /// A sequence number that is not below any that was used until now.
    pub fn bound(self, unix_s: u64) -> Sqn {
        let by_time = u64::try_from(unix_s as i64 + self.difference_s).unwrap_or_default();
        if by_time > self.last.sequence() {
            Sqn::new(by_time << SQN_INDEX_BITS)
        } else {
            self.last
        }
    }
}

/// Bits of a sequence number that do not count (TS 33.102, C.3.3).
const SQN_INDEX_BITS: u32 = 5;

impl Record {
    /// As the repository of the core takes it.
    pub fn to_udr(&self) -> sluice_udr::Subscriber {
        let slices = &self.profile.slices;
        let network = |slice: &Slice, one: &Network| DataNetwork {
            slice: slice.snssai,
            dnn: one.dnn,
            types: one.types,
            default_type: one.default_type,
            ambr_bps: one.ambr_bps,
            five_qi: one.five_qi,
            priority: one.arp,
            ipv4: one.ipv4,
            ipv6_prefix: one.ipv6_prefix,
            up_security: one.up_security,
        };
        let networks = |slice: &Slice| -> Vec<DataNetwork> {
            let all = slice.networks.iter();
            all.map(|one| network(slice, one)).collect()
        };
        sluice_udr::Subscriber {
            credentials: self.credentials.clone(),
            sqn: self.sqn.last,
            ambr_bps: self.profile.ambr_bps,
            slices: slices.iter().map(|s| (s.snssai, s.is_default)).collect(),
            networks: slices.iter().flat_map(networks).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_number_that_was_told_is_a_bound_from_then_on() {
        let now = 1_700_000_000;
        let new = SqnState::new(Sqn::default(), now);
        assert_eq!(new.bound(now), Sqn::default());
        assert_eq!(new.bound(now + 7).sequence(), 7);
        let moved = SqnState::new(Sqn::new(1000 << 5 | 3), now);
        assert_eq!(moved.bound(now), Sqn::new(1000 << 5 | 3));
        assert_eq!(moved.bound(now + 5).sequence(), 1005);
        // A clock that was set back makes none lower.
        assert_eq!(moved.bound(now - 100), Sqn::new(1000 << 5 | 3));
        assert_eq!(moved.bound(0), Sqn::new(1000 << 5 | 3));
    }
}
