//! Ends of tunnels at a UPF that does not choose F-TEIDs: as core.yaml says, or as the UPF announces it (User Plane IP
//! Resource Information, TS 29.244 up to Release 15, 8.2.82).

use core::net::{Ipv4Addr, Ipv6Addr};
use core::ops::Range;

use sluice_n4::{AssociationId, association::UserPlaneResource};
use sluice_wire::pfcp::value::{Name, SourceInterface};

use crate::config::UpfConfig;
use crate::context::state::State;

/// Addresses of a UPF towards gNBs, and the TEIDs that it has there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct TunnelEnds {
    pub ipv4: Option<Ipv4Addr>,
    pub ipv6: Option<Ipv6Addr>,
    /// How many leading bits are fixed, and their value.
    pub range: (u8, u8),
}

impl TunnelEnds {
    /// TEIDs that may be given; 0 is none.
    pub fn teids(&self) -> Range<u64> {
        let (bits, value) = self.range;
        let bits = u32::from(bits.min(7));
        let value = u64::from(value) & ((1 << bits) - 1);
        let size = 1_u64 << (32 - bits);
        let start = value * size;
        start.max(1)..start + size
    }

    /// The first one that is given: another one at each start, so that those of before rest.
    pub fn first(&self, unix_s: u64) -> u64 {
        let range = self.teids();
        let mixed = unix_s.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        range.start + mixed % (range.end - range.start)
    }
}

fn of(upf: &UpfConfig, told: &[UserPlaneResource]) -> Option<TunnelEnds> {
    let access = upf.access.as_deref().map(str::as_bytes);
    let is_its = |one: &&UserPlaneResource| {
        let side = one.source_interface.unwrap_or(SourceInterface::ACCESS);
        let name = one.network_instance.as_deref().zip(access);
        side == SourceInterface::ACCESS && name.is_none_or(|(a, b)| Name(a) == Name(b))
    };
    let (ipv4, ipv6) = upf.n3_addresses;
    if ipv4.is_some() || ipv6.is_some() {
        let has_it = |one: &&UserPlaneResource| {
            let both = (ipv4.is_some() && one.ipv4 == ipv4) || (ipv6.is_some() && one.ipv6 == ipv6);
            is_its(one) && both
        };
        let range = told.iter().find(has_it).map(|one| one.teid_range);
        return Some(TunnelEnds {
            ipv4,
            ipv6,
            range: range.unwrap_or_default(),
        });
    }
    let told = told.iter().filter(is_its).map(|one| TunnelEnds {
        ipv4: one.ipv4.filter(|_| upf.n3[0]),
        ipv6: one.ipv6.filter(|_| upf.n3[1]),
        range: one.teid_range,
    });
    let mut there = told.filter(|ends| ends.ipv4.is_some() || ends.ipv6.is_some());
    there.next()
}

impl State {
    /// The end of tunnels at a UPF, by its place in the configuration; none if nobody says so.
    pub(crate) fn tunnel_ends(&self, id: AssociationId, upf: usize) -> Option<TunnelEnds> {
        let told = self.endpoint.association(id).map(|one| one.resources());
        of(self.config.upfs.get(upf)?, told.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(last: u8, name: Option<&[u8]>) -> UserPlaneResource {
        UserPlaneResource {
            teid_range: (4, 9),
            ipv4: Some([192, 0, 2, last].into()),
            network_instance: name.map(<[u8]>::to_vec),
            ..UserPlaneResource::default()
        }
    }

    fn upf() -> UpfConfig {
        let mut upf = UpfConfig::new("127.0.0.8:8805".parse().expect("an address"));
        upf.access = Some("ran".to_owned());
        upf
    }

    #[test]
    fn teids_are_of_the_range_that_the_upf_names_and_never_none() {
        let ends = |range| TunnelEnds {
            range,
            ..TunnelEnds::default()
        };
        assert_eq!(ends((0, 0)).teids(), 1..1 << 32);
        assert_eq!(ends((4, 9)).teids(), 0x9000_0000..0xa000_0000);
        assert_eq!(ends((1, 0)).teids(), 1..0x8000_0000);
        for unix_s in 0..1000 {
            let ends = ends((7, 127));
            assert!(ends.teids().contains(&ends.first(unix_s)));
        }
    }

    #[test]
    fn the_side_and_the_network_instance_of_gnbs_are_looked_for() {
        let address = |upf: &UpfConfig, told: &[UserPlaneResource]| of(upf, told)?.ipv4;
        let of_core = UserPlaneResource {
            source_interface: Some(SourceInterface::CORE),
            ..resource(1, None)
        };
        let told = [
            of_core,
            resource(2, Some(b"other")),
            resource(3, Some(b"\x03ran")),
        ];
        assert_eq!(address(&upf(), &told), Some([192, 0, 2, 3].into()));
        assert_eq!(address(&upf(), &told[..2]), None);
        // One that names none serves all.
        assert_eq!(
            address(&upf(), &[resource(4, None)]),
            Some([192, 0, 2, 4].into())
        );
        let only_ipv6 = UpfConfig {
            n3: [false, true],
            ..upf()
        };
        assert_eq!(of(&only_ipv6, &[resource(4, None)]), None);
    }

    #[test]
    fn what_the_configuration_says_comes_first_in_the_range_that_the_upf_names_for_it() {
        let configured = UpfConfig {
            n3_addresses: (Some([192, 0, 2, 4].into()), None),
            ..upf()
        };
        let ends = of(&configured, &[resource(3, None), resource(4, None)]).expect("known");
        assert_eq!(
            (ends.ipv4, ends.range),
            (Some([192, 0, 2, 4].into()), (4, 9))
        );
        let ends = of(&configured, &[]).expect("known");
        assert_eq!(ends.range, (0, 0));
    }
}
