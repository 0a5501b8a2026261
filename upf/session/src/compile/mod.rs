//! Rule compiler: form (entry or blocks), place (which entries, blocks and buckets), render (what stands in them), diff (the
//! operations from one rendering to the next).
//!
//! What the path has is not kept: it is rendered again from the rules, and compared.

pub mod allocate;
pub mod diff;
pub mod far_update;
pub mod image;
pub mod render;
pub mod resolve;

use crate::config::{MbrZero, ShapedRates};
use crate::limits::RULES;
use crate::rules::{Action, Endpoint, IdList, Key, Pdr, Qer, Rules};
use arrayvec::ArrayVec;
use diff::{Delta, TooMany, Wanted};
use far_update::FarUpdate;
use image::Image;
use render::TooLarge;
use sluice_datapath::limits::{BLOCK_CHAIN, BLOCK_RULES, RULE_QERS, TXN_OPS};
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

/// Two renderings, kept for the next session so that none is allocated for a message.
pub struct Compiler {
    before: Box<Image>,
    after: Box<Image>,
}

/// The session needs more than one transaction holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooComplex;

impl From<TooLarge> for TooComplex {
    fn from(_: TooLarge) -> Self {
        Self
    }
}

impl From<TooMany> for TooComplex {
    fn from(_: TooMany) -> Self {
        Self
    }
}

impl Compiler {
    /// With room for one session.
    pub fn new(mbr_zero: MbrZero, shaped_rates: ShapedRates) -> Self {
        let image = || Box::new(Image::new(mbr_zero, shaped_rates));
        Self {
            before: image(),
            after: image(),
        }
    }

    /// From `old` to `new` rules; usage that is `wanted` is taken even where nothing changes.
    ///
    /// # Errors
    /// If `new` could not be removed by one transaction, or the change does not fit one.
    pub fn change(
        &mut self,
        (old, new): (&Rules, &Rules),
        wanted: Wanted<'_>,
        into: &mut Delta<'_>,
    ) -> Result<(), TooComplex> {
        self.before.render(old)?;
        self.after.render(new)?;
        if self.after.len() > TXN_OPS {
            return Err(TooComplex);
        }
        Ok(into.write(&self.before, &self.after, wanted)?)
    }

    /// [`change`](Self::change) where only FARs differ and no usage is asked for: entries whose packets
    /// take another FAR are rendered, nothing else.
    ///
    /// # Errors
    /// As there.
    pub fn change_fars(
        &mut self,
        (old, new): (&Rules, &Rules),
        into: &mut Delta<'_>,
    ) -> Result<(), TooComplex> {
        let update = FarUpdate { old, new };
        let changed = |endpoint: &Endpoint| update.differ_behind(endpoint);
        self.before.render_entries(old, changed)?;
        self.after.render_entries(new, changed)?;
        Ok(into.write(&self.before, &self.after, Wanted::None)?)
    }

    /// Removes all that the rules have on the path, with its usage.
    ///
    /// # Errors
    /// None for rules that were admitted.
    pub fn remove(&mut self, rules: &Rules, into: &mut Delta<'_>) -> Result<(), TooComplex> {
        self.before.render_to_clear(rules)?;
        self.after.clear();
        Ok(into.write(&self.before, &self.after, Wanted::None)?)
    }

    /// Takes all usage and all that URRs have to tell. Measurements of URRs that `restarts` begin anew, and of
    /// those that have something to tell.
    ///
    /// # Errors
    /// None for rules that were admitted.
    pub fn measure(&mut self, rules: &Rules, into: &mut Delta<'_>) -> Result<(), TooComplex> {
        self.after.render(rules)?;
        into.write(&self.after, &self.after, Wanted::All)?;
        Ok(into.cells(&self.after, &self.after)?)
    }

    /// Takes all usage and changes nothing.
    ///
    /// # Errors
    /// None for rules that were admitted.
    pub fn query(&mut self, rules: &Rules, into: &mut Delta<'_>) -> Result<(), TooComplex> {
        self.before.render(rules)?;
        // One rendering against itself.
        Ok(into.write(&self.before, &self.before, Wanted::All)?)
    }
}

/// Where they stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// One rule in the entry, or none at all.
    Entry,
    /// One rule in the entry for the usual packets, and in front of it so many rules in blocks that packets
    /// of the UE's link alone can match.
    LinkRules(usize),
    /// So many rules, all in blocks.
    Blocks(usize),
}

impl Rules {
    /// Where the rules behind a key stand. They need blocks if there are several, or if the only one asks
    /// for flows, shares a rate with others, or has more than two rates; that its last packet is noted counts as one.
    pub fn form(&self, key: Key) -> Form {
        // An entry without rule of its own has room for what lies behind the UE.
        if !self.routes.run.is_none() && self.behind(key).next().is_some() {
            return Form::Blocks(self.members_len(key));
        }
        let (mut usual, mut link) = (None, 0);
        for pdr in self.behind(key) {
            if pdr.filter.is_link {
                link += rules_len(pdr);
            } else if usual.replace(pdr).is_some() {
                return Form::Blocks(self.members_len(key));
            }
        }
        match usual {
            None if link == 0 => Form::Entry,
            Some(pdr) if self.fits_entry(pdr) && link == 0 => Form::Entry,
            Some(pdr) if self.fits_entry(pdr) && self.are_in_front(key, pdr) => {
                Form::LinkRules(link)
            }
            _ => Form::Blocks(self.members_len(key)),
        }
    }

    fn fits_entry(&self, pdr: &Pdr) -> bool {
        let limiters = self.limiters(pdr);
        let uplink = self.is_uplink(pdr);
        let mut ids = limiters.as_slice().iter();
        rules_len(pdr) == 1
            && pdr.filter.run.is_none()
            && limiters.len() + usize::from(self.is_timed(pdr)) <= 2
            && ids.all(|id| self.users(*id, uplink) == 1)
    }

    /// True if all rules for packets of the link may stand in blocks of their own: they come first and limit
    /// no rate, and the entry has room for their block's number, where an outer header's TEID would stand.
    fn are_in_front(&self, key: Key, usual: &Pdr) -> bool {
        let order = |pdr: &Pdr| (pdr.precedence, pdr.id);
        let mut link = self.behind(key).filter(|pdr| pdr.filter.is_link);
        let comes_first =
            |pdr: &Pdr| order(pdr) < order(usual) && self.limiters(pdr).as_slice().is_empty();
        let makes_tunnel = self
            .far(usual.far)
            .is_some_and(|far| far.tunnel().is_some());
        !makes_tunnel && link.all(comes_first)
    }

    /// The rule that stands in an endpoint's entry, or tells what the entry is.
    pub fn entry_member(&self, endpoint: &Endpoint) -> Option<Member<'_>> {
        if endpoint.link_rules {
            let mut behind = self.behind(endpoint.key);
            behind
                .find(|pdr| !pdr.filter.is_link)
                .and_then(Member::first)
        } else {
            self.first_member(endpoint.key)
        }
    }

    /// The rules in an endpoint's blocks in the order in which they are tried.
    pub fn chained(&self, endpoint: &Endpoint) -> Members<'_> {
        let mut members = self.members(endpoint.key);
        if endpoint.link_rules {
            members.retain(|member| member.pdr.filter.is_link);
        }
        members
    }
}
