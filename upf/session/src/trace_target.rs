//! Trace targets: sessions found by what identifies their packets, and the names of the rules that
//! a packet met.

use crate::function::UpFunction;
use crate::rules::{Key, RemoteTunnel, Rules, UeAddresses};
use crate::store::SessionRef;
use core::net::{IpAddr, Ipv4Addr};
use core::num::NonZeroU64;
use sluice_datapath::forward::pdr::At;
use sluice_datapath::ids::EntryId;
use sluice_datapath::limits::BLOCK_RULES;
use sluice_datapath::trace;
use sluice_wire::ids::Seid;

/// Whose packets are followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceTarget {
    /// A UE's, by its IPv4 address.
    Ue(Ipv4Addr),
    /// A UE's, by the upper half of its IPv6 addresses.
    UePrefix(u64),
    /// Those that come out of a tunnel of ours: the number of its address, and the TEID.
    Teid {
        /// Number of the address.
        local: u8,
        /// The TEID.
        teid: u32,
    },
    /// Those that go into a peer's tunnel.
    Tunnel(IpAddr, u32),
    /// Those of a peer.
    Peer(IpAddr),
}

/// A session that has to do with them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TracedSession {
    /// Its UP SEID.
    pub seid: Seid,
    /// What its packets are placed by.
    pub keys: Vec<trace::Key>,
    /// Its entries.
    pub entries: Vec<EntryId>,
}

/// The rules that a packet met, by their names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleNames {
    /// The IPv4 address of the session's UE.
    pub ue: Option<Ipv4Addr>,
    /// The upper half of its IPv6 addresses.
    pub ue_prefix: Option<u64>,
    /// PDR ID.
    pub pdr: u16,
    /// Its precedence.
    pub precedence: u32,
    /// FAR ID.
    pub far: u32,
    /// QER IDs.
    pub qers: Vec<u32>,
    /// URR IDs.
    pub urrs: Vec<u32>,
}

impl UpFunction {
    /// Places of sessions that were ever used, for those who look at one after the other.
    pub fn places(&self) -> u32 {
        self.node.part.store.places()
    }

    /// The session in a place, if it has to do with what is sought.
    pub fn followed(&mut self, place: u32, sought: TraceTarget) -> Option<TracedSession> {
        let part = &mut self.node.part;
        let name = part.store.named(place)?;
        let rules = &*part.rules(name);
        let into = |found: &dyn Fn(RemoteTunnel) -> bool| {
            let mut fars = rules.fars.iter();
            fars.any(|far| far.tunnel().is_some_and(found))
        };
        let is_sought = match sought {
            TraceTarget::Ue(address) => rules.ue.ipv4 == Some(address),
            TraceTarget::UePrefix(prefix) => rules.ue.prefix_u64() == prefix && prefix != 0,
            TraceTarget::Teid { local, teid } => {
                rules.endpoint(Key::Tunnel { local, teid }).is_some()
            }
            TraceTarget::Tunnel(peer, teid) => into(&|t| (t.address, t.teid) == (peer, teid)),
            TraceTarget::Peer(peer) => into(&|t| t.address == peer),
        };
        is_sought.then(|| traced(name, rules))
    }

    /// The session of these SEIDs: ours, and its CP function's. None if there is none any more.
    pub fn followed_session(&mut self, up: Seid, cp: Seid) -> Option<TracedSession> {
        let part = &mut self.node.part;
        let name = SessionRef::from_seid(up);
        let session = part.store.get(name)?;
        (session.cp.seid == cp).then(|| traced(name, part.rules(name)))
    }

    /// The names of a rule of a session: the entry's own, or one in an extension block.
    pub fn rule_names(&self, seid: Seid, entry: EntryId, at: Option<At>) -> Option<RuleNames> {
        let name = SessionRef::from_seid(seid);
        self.node.part.store.get(name)?;
        let mut rules = Box::<Rules>::default();
        self.node.part.store.load(name, &mut rules);
        let endpoint = *rules.entries().find(|e| e.entry == entry)?;
        let place = match at {
            None => 0,
            Some(at) => {
                let block = endpoint.blocks.iter().position(|b| *b == at.block().0)?;
                block * BLOCK_RULES + at.rule()
            }
        };
        let pdr = match at {
            None => rules.entry_member(&endpoint)?.pdr,
            Some(_) => rules.chained(&endpoint).get(place)?.pdr,
        };
        Some(RuleNames {
            ue: rules.ue.ipv4,
            ue_prefix: rules.ue.prefix.map(NonZeroU64::get),
            pdr: pdr.id.0,
            precedence: pdr.precedence,
            far: pdr.far.0,
            qers: pdr.qers.as_slice().to_vec(),
            urrs: pdr.urrs.as_slice().to_vec(),
        })
    }
}

fn traced(name: SessionRef, rules: &Rules) -> TracedSession {
    TracedSession {
        seid: name.seid(),
        keys: rules
            .entries()
            .flat_map(|e| keys(e.key, &rules.ue))
            .collect(),
        entries: rules.entries().map(|e| e.entry).collect(),
    }
}

/// By what packets of an endpoint are placed; those to a UE by the address of their family.
fn keys(key: Key, ue: &UeAddresses) -> impl Iterator<Item = trace::Key> {
    let keys = match key {
        Key::Tunnel { local, teid } => [Some(trace::Key::Teid { local, teid }), None],
        Key::Ue { .. } => [
            ue.ipv4.map(trace::Key::Ue),
            ue.prefix.map(|prefix| trace::Key::UePrefix(prefix.get())),
        ],
        Key::Spare => [None, None],
    };
    keys.into_iter().flatten()
}
