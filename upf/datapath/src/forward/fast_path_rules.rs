//! Fast path where an endpoint has several rules: the rule is found first, then a common packet goes the same way
//! as one of an entry with one rule.
//!
//! A batch's rules are found in steps, each for all of its packets, so that the cache lines that one step needs come
//! while the others are asked for.

use crate::batch::FoundRules;
use crate::drop::DropReason;
use crate::forward::fast_path::{self, FastTx};
use crate::forward::fast_path_ipv6;
use crate::forward::path::{Path, TxDecision};
use crate::forward::pdr::{self, At, Detect};
use crate::forward::qer;
use crate::ids::BlockId;
use crate::meta::{Arrival, Meta};
use crate::session::rule::{BlockRule, ExtBlock, Flags, Head, SharedBucket};
use crate::tx::transmit::UsageRef;
use core::mem::offset_of;
use sluice_port::{Packet, PortIo};
use sluice_wire::ipv6::is_ipv6;
use sluice_wire::layout::{be16, ipv6};

impl<I: PortIo> Path<'_, I> {
    /// Finds the rules of packets whose entries have several, and brings them into the cache.
    #[inline(never)]
    pub(super) fn find_rules(&self, packets: &[I::Packet], metas: &[Meta], found: &mut FoundRules) {
        let chains = metas.iter().map(|meta| self.chain_of(meta));
        chains
            .flatten()
            .for_each(|chain| self.state.prefetch_ext_line(chain.0, 0));
        for (packet, meta) in packets.iter().zip(metas) {
            self.prefetch_asked(packet, meta);
        }
        for ((packet, meta), found) in packets.iter().zip(metas).zip(&mut *found) {
            *found = self.find_rule(packet, meta);
            if let Some(at) = *found {
                let from = offset_of!(ExtBlock, rules) + at.rule() * size_of::<BlockRule>();
                self.state.prefetch_ext_line(at.block().0, from);
            }
        }
        for at in found.iter().take(metas.len()).flatten() {
            self.prefetch_buckets(*at);
        }
    }

    /// The first block, if an entry has several rules.
    #[inline(always)]
    pub(super) fn chain_of(&self, meta: &Meta) -> Option<BlockId> {
        self.state.entry(meta.entry.0)?.block()
    }

    /// What a chain's first block leads to: the next block, and the filters of rules that the packet may meet.
    #[inline(always)]
    fn prefetch_asked(&self, packet: &I::Packet, meta: &Meta) -> Option<()> {
        let block = self.state.ext(self.chain_of(meta)?.0)?;
        if block.next != BlockId(0) {
            self.state.prefetch_ext_line(block.next.0, 0);
        }
        let detect = self.detect(packet, meta)?;
        for at in block.candidates(|| detect.read().1) {
            let (_, filters) = block.asks(at);
            self.tables.filters.prefetch(filters);
        }
        Some(())
    }

    #[inline(always)]
    fn detect<'p>(&'p self, packet: &'p I::Packet, meta: &Meta) -> Option<Detect<'p>> {
        let entry = self.state.entry(meta.entry.0)?;
        let inner = packet.data().get(usize::from(meta.inner_at)..)?;
        if meta.arrival == Arrival::Public {
            return None;
        }
        Some(Detect::of(meta, entry, inner, &self.tables.filters))
    }

    #[inline(always)]
    fn find_rule(&self, packet: &I::Packet, meta: &Meta) -> Option<At> {
        let chain = self.chain_of(meta)?;
        let detect = self.detect(packet, meta)?;
        pdr::first(chain, &detect, |number| self.state.ext(number.0)).ok()
    }

    #[inline(always)]
    fn prefetch_buckets(&self, at: At) {
        let rule = self.state.ext(at.block().0);
        let rule = rule.and_then(|block| block.rules.get(at.rule()));
        let buckets = rule.into_iter().flat_map(|rule| &rule.buckets);
        for (block, place) in buckets.filter_map(|bucket| bucket.get()) {
            let from = offset_of!(ExtBlock, buckets) + place * size_of::<SharedBucket>();
            self.state.prefetch_ext_line(block.0, from);
        }
    }

    /// The whole way of a common packet whose entry has several rules, of which `found` is the one that it meets,
    /// if it is known; none if it is not a common one, and then nothing was done.
    #[inline(never)]
    pub(super) fn fast_path_of_rules(
        &mut self,
        packet: &mut I::Packet,
        meta: &Meta,
        found: Option<At>,
    ) -> Option<Result<TxDecision, DropReason>> {
        if self.hold.is_draining(meta.entry) || !self.shaper.is_empty() {
            return None;
        }
        let at = found.or_else(|| self.find_rule(packet, meta))?;
        let rule = self.state.ext(at.block().0)?.rules.get(at.rule())?;
        let (head, buckets) = (rule.head, rule.buckets);
        let inner = packet.data().get(usize::from(meta.inner_at)..)?;
        let is_ipv6 = is_ipv6(inner);
        // An IPv6 packet may have padding of a frame behind it.
        let bytes = if is_ipv6 {
            ipv6_len(inner)?
        } else {
            u32::from(meta.inner_len)
        };
        let clocks = qer::rates_shared(self.state, &buckets, self.now_ns, bytes, self.burst)?;
        let (entry, block) = self.state.entry_and_ext_mut(meta.entry.0, at.block().0)?;
        let of = entry.identity();
        let head = of_entry(head, entry.head);
        let rule = (of, head, &mut block.rules.get_mut(at.rule())?.body);
        let now = (self.now_ns, self.burst);
        let done = if is_ipv6 {
            fast_path_ipv6::forward(packet, meta, rule, self.tables, now)
        } else {
            fast_path::forward(packet, meta, rule, self.tables, now)
        };
        let FastTx { tx_buffer, bytes } = match done? {
            Ok(left) => left,
            Err(reason) => return Some(Err(reason)),
        };
        qer::pay_shared(self.state, &buckets, clocks);
        let charge = UsageRef {
            entry: meta.entry,
            at: Some(at),
            len: bytes,
        };
        let tx_buffer = usize::from(tx_buffer);
        Some(Ok(TxDecision { tx_buffer, charge }))
    }
}

/// Length of an IPv6 packet as its header has it.
#[inline(always)]
fn ipv6_len(inner: &[u8]) -> Option<u32> {
    let header: &[u8; ipv6::LEN] = inner.first_chunk()?;
    Some(ipv6::LEN as u32 + u32::from(be16(header, ipv6::PAYLOAD_LEN)))
}

/// What a rule of a block says, with what its entry says of all of them.
#[inline(always)]
fn of_entry(rule: Head, entry: Head) -> Head {
    const OF_ENTRY: Flags = Flags::TUNNEL.with(Flags::FROM_UE).with(Flags::TO_UE);
    Head {
        flags: rule.flags.with(entry.flags.common(OF_ENTRY)),
        ..rule
    }
}
