//! Rule compiler: place (which entries, blocks and buckets), render (what stands in them), diff (the
//! operations from one rendering to the next).

pub mod allocate;
pub mod compiler;
pub mod diff;
pub mod far_update;
pub mod form;
pub mod image;
pub mod render;
pub mod resolve;

use crate::limits::RULES;
use crate::rules::{Action, Endpoint, IdList, Key, Pdr, Qer, Rules};
use arrayvec::ArrayVec;
use sluice_datapath::limits::{BLOCK_CHAIN, BLOCK_RULES, RULE_QERS};
use sluice_wire::limits::QERS_PER_PDR;

/// Rules that one entry can chain.
pub const LINE_RULES: usize = BLOCK_RULES * BLOCK_CHAIN;

/// One compiled rule of an entry: a PDR, and the QFI that it matches, if it matches one.
#[derive(Clone, Copy, Debug)]
pub struct Member<'r> {
    /// The PDR.
    pub pdr: &'r Pdr,
    /// The QFI.
    pub qfi: Option<u8>,
}

impl<'r> Member<'r> {
    /// The first rule that a PDR compiles into.
    fn first(pdr: &'r Pdr) -> Option<Self> {
        let qfi = qfis(pdr).next()?;
        Some(Self { pdr, qfi })
    }
}

/// The compiled rules of an entry in the order in which they are tried.
pub type Members<'r> = ArrayVec<Member<'r>, RULES>;

impl Rules {
    /// The PDRs behind a key that can match a packet.
    fn behind(&self, key: Key) -> impl Iterator<Item = &Pdr> {
        let pdrs = self.pdrs.iter();
        pdrs.filter(move |p| p.key() == Some(key) && self.is_live(p))
    }

    /// The rules behind a key; rules beyond all bounds are left out (and refused by the caller,
    /// who counts).
    pub fn members(&self, key: Key) -> Members<'_> {
        let mut members = Members::new();
        for pdr in self.behind(key) {
            for qfi in qfis(pdr) {
                if members.try_push(Member { pdr, qfi }).is_err() {
                    return members;
                }
            }
        }
        members.sort_by_key(|m| (m.pdr.precedence, m.pdr.id, m.pdr.filter.origin, m.qfi));
        members
    }

    /// True if some rule behind a key holds packets.
    pub fn holds_behind(&self, key: Key) -> bool {
        let mut behind = self.behind(key);
        behind.any(|pdr| {
            self.far(pdr.far)
                .is_some_and(|far| far.action == Action::Buffer)
        })
    }

    /// The QERs of a PDR that limit a rate in its direction.
    pub fn limiters(&self, pdr: &Pdr) -> IdList<QERS_PER_PDR> {
        let uplink = self.is_uplink(pdr);
        let ids = pdr.qers.as_slice().iter().copied();
        ids.filter(|id| self.qer(*id).is_some_and(|qer| limits(qer, uplink)))
            .collect()
    }

    /// How many compiled rules of a direction draw on a QER.
    fn users(&self, qer: u32, uplink: bool) -> usize {
        let draw = self.pdrs.iter().filter(|p| p.qers.contains(qer));
        let live = draw.filter(|p| self.is_live(p) && self.is_uplink(p) == uplink);
        live.map(rules_len).sum()
    }

    /// How many compiled rules stand behind a key.
    pub fn members_len(&self, key: Key) -> usize {
        self.behind(key).map(rules_len).sum()
    }

    /// The first of the compiled rules behind a key.
    pub fn first_member(&self, key: Key) -> Option<Member<'_>> {
        let pdr = self
            .behind(key)
            .min_by_key(|p| (p.precedence, p.id, p.filter.origin))?;
        Member::first(pdr)
    }

    /// How many places compiled rules take that URRs watch which wait for octets: two where what is dropped counts.
    pub fn watched_rules_len(&self) -> usize {
        let watched = self
            .pdrs
            .iter()
            .filter(|p| self.is_live(p) && self.is_watched(p));
        let places = |p: &Pdr| rules_len(p) * (1 + usize::from(self.counts_drops(p)));
        watched.map(places).sum()
    }

    /// True if a rate of a QER has to stand in a shared bucket: one of its rules stands in a block.
    pub fn needs_bucket(&self, qer: &Qer, uplink: bool) -> bool {
        let uses =
            |p: &&Pdr| self.is_live(p) && p.qers.contains(qer.id.0) && self.is_uplink(p) == uplink;
        // Rules for packets of the link limit no rate where they stand in blocks of their own.
        let in_block = |p: &Pdr| {
            let endpoint = p.key().and_then(|key| self.endpoint(key));
            endpoint.is_some_and(|e| e.has_blocks() && !e.link_rules)
        };
        limits(qer, uplink) && self.pdrs.iter().filter(uses).any(in_block)
    }

    /// The endpoints that are entries.
    pub fn entries(&self) -> impl Iterator<Item = &Endpoint> {
        self.endpoints.iter().filter(|e| e.key != Key::Spare)
    }

    /// The PDR with more limiting QERs than a rule can name.
    pub fn overlimited(&self) -> Option<&Pdr> {
        let mut live = self.pdrs.iter().filter(|p| self.is_live(p));
        live.find(|p| p.qers.len() > RULE_QERS && self.limiters(p).len() > RULE_QERS)
    }
}

/// The QFIs that a PDR matches one by one, or none for all at once.
fn qfis(pdr: &Pdr) -> impl Iterator<Item = Option<u8>> {
    let mut bits = pdr.qfis;
    let each = core::iter::from_fn(move || {
        let qfi = (bits != 0).then(|| bits.trailing_zeros() as u8)?;
        bits &= bits - 1;
        Some(Some(qfi))
    });
    let all = (pdr.qfis == 0).then_some(None);
    all.into_iter().chain(each)
}

/// How many rules a PDR compiles into.
fn rules_len(pdr: &Pdr) -> usize {
    pdr.qfis.count_ones().max(1) as usize
}

/// True if a QER limits a rate of a direction.
fn limits(qer: &Qer, uplink: bool) -> bool {
    rate_kbps(qer, uplink).is_some_and(|rate| rate > 0)
}

/// A QER's maximum bit rate of a direction.
pub fn rate_kbps(qer: &Qer, uplink: bool) -> Option<u64> {
    let mbr = qer.mbr?;
    Some(if uplink {
        mbr.uplink_kbps
    } else {
        mbr.downlink_kbps
    })
}
