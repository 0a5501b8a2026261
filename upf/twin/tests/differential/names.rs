//! Names of a case, resolved: what sessions and PDRs are called there, and what the UPF has for them.

use crate::frames::Lookup;
use crate::spec::{Slot, UeSpec};
use crate::world;
use sluice_twin::{SessionId, Twin};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Names of a case, resolved.
pub struct Names<'a> {
    pub twin: &'a Twin,
    pub sessions: &'a BTreeMap<Slot, SessionId>,
    /// What sessions were told when they were established.
    pub ues: &'a BTreeMap<Slot, UeSpec>,
}

impl Lookup for Names<'_> {
    fn f_teid(&self, slot: u8, pdr: u16) -> Option<(IpAddr, u32)> {
        self.twin.teid(*self.sessions.get(&slot)?, pdr)
    }

    fn public(&self, slot: u8, protocol: u8, own: u16) -> Option<(Ipv4Addr, u16)> {
        let id = *self.sessions.get(&slot)?;
        self.twin.public_port(id, protocol, own)
    }

    fn ue(&self, slot: u8, like: IpAddr) -> IpAddr {
        let nobody = UeSpec {
            ipv4: Some(Ipv4Addr::new(10, 45, 200, 200)),
            ipv6: Some(Ipv6Addr::new(0x2001, 0xdb8, 0x45, 0xeee, 0, 0, 0, 0)),
            ..UeSpec::default()
        };
        let is_told4 = |a: &Ipv4Addr| world::given_slot((*a).into()).is_none();
        let is_told6 = |a: &Ipv6Addr| world::given_slot((*a).into()).is_none();
        let mut told = self.ues.get(&slot).copied().unwrap_or_default();
        // A prefix may have come later.
        let session = self.sessions.get(&slot);
        let later = session.and_then(|id| self.twin.ue_prefix(*id));
        told.ipv6 = told.ipv6.filter(is_told6).or(later).or(told.ipv6);
        let given = session.and_then(|id| self.twin.ue(*id));
        told.ipv4 = told.ipv4.filter(is_told4).or(given).or(told.ipv4);
        let known = told.address(like).or(nobody.address(like));
        known.expect("nobody has both")
    }
}
