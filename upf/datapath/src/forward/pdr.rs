//! PDR: the matching rule of the endpoint, in order of precedence.

use crate::drop::DropReason;
use crate::forward::flow::Flow;
use crate::ids::BlockId;
use crate::limits::{BLOCK_CHAIN, BLOCK_RULES};
use crate::meta::Meta;
use crate::session::entry::SessionEntry;
use crate::session::filter_hint::FlowHints;
use crate::session::flow_filter::FlowFilters;
use crate::session::rule::{Conditions, ExtBlock, Flags, Head};
use core::num::NonZeroU32;
use sluice_wire::ipv6::is_ipv6;

/// Where a rule of an extended entry stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At(NonZeroU32);

impl At {
    /// Rule `rule` of `block`. Block 0 is never used, so the number is not 0.
    pub fn new(block: BlockId, rule: usize) -> Option<Self> {
        let first = block.0.checked_mul(BLOCK_RULES as u32)?;
        NonZeroU32::new(first | (rule as u32 % BLOCK_RULES as u32)).map(Self)
    }

    /// As a number, which is not 0.
    pub fn number(self) -> u32 {
        self.0.get()
    }

    /// From its number.
    pub fn from_number(number: u32) -> Option<Self> {
        NonZeroU32::new(number).map(Self)
    }

    /// Which block.
    #[inline]
    pub fn block(self) -> BlockId {
        BlockId(self.0.get() / BLOCK_RULES as u32)
    }

    /// Which rule of it.
    #[inline]
    pub fn rule(self) -> usize {
        self.0.get() as usize % BLOCK_RULES
    }
}

/// What PDRs ask for: a packet as it came.
#[derive(Clone, Copy)]
pub struct Detect<'p> {
    /// QFI or [`crate::meta::NO_QFI`].
    pub qfi: u8,
    /// The UE sent it: filters, which are written for the downlink, are asked the other way round
    /// (TS 29.244, 5.2.1A.2A).
    pub is_from_ue: bool,
    /// What the packet says of its flow.
    pub flow: FlowOf<'p>,
    /// The filters of all sessions.
    pub filters: &'p FlowFilters,
}

/// Where a packet's flow is to be found.
#[derive(Clone, Copy)]
pub enum FlowOf<'p> {
    /// In the inner packet: it is read when the first filter asks.
    Packet(&'p [u8]),
    /// It was read before: the packet has changed since.
    Read(&'p Flow),
}

impl<'p> Detect<'p> {
    /// Of a packet whose inner packet was checked.
    #[inline(always)]
    pub fn of(
        meta: &Meta,
        entry: &SessionEntry,
        inner: &'p [u8],
        filters: &'p FlowFilters,
    ) -> Self {
        Self {
            qfi: meta.qfi,
            is_from_ue: entry.head.flags.has(Flags::FROM_UE),
            flow: FlowOf::Packet(inner),
            filters,
        }
    }

    /// The flow.
    #[inline]
    pub fn flow(&self) -> Flow {
        match self.flow {
            FlowOf::Packet(inner) => Flow::of(inner),
            FlowOf::Read(flow) => *flow,
        }
    }

    /// The same towards the UE, as filters ask for it, and its hints.
    #[inline]
    pub fn read(&self) -> (Flow, FlowHints) {
        let flow = self.flow().towards_ue(self.is_from_ue);
        (flow, FlowHints::of(&flow))
    }

    #[inline(always)]
    fn is_ipv6(&self) -> bool {
        match self.flow {
            FlowOf::Packet(inner) => is_ipv6(inner),
            FlowOf::Read(flow) => flow.is_ipv6,
        }
    }

    /// True for IPv6 packets from or to a link-local address or to a group.
    #[inline]
    pub fn is_on_link(&self) -> bool {
        self.is_ipv6() && {
            let flow = self.flow();
            let top = |address: u128| (address >> 112) as u16;
            top(flow.destination) >= 0xff00
                || [flow.source, flow.destination]
                    .map(|a| top(a) & 0xffc0)
                    .contains(&0xfe80)
        }
    }
}

/// An entry's only rule.
#[inline(always)]
pub fn only(head: Head, detect: &Detect<'_>) -> Result<(), DropReason> {
    if Conditions::of(head).are_met(detect.qfi, detect.is_ipv6()) {
        Ok(())
    } else {
        Err(DropReason::NoPdr)
    }
}

/// The first rule of a chain that matches. `block` reads an extension block that the worker owns.
#[cold]
pub fn first<'a>(
    chain: BlockId,
    detect: &Detect<'_>,
    block: impl Fn(BlockId) -> Option<&'a ExtBlock>,
) -> Result<At, DropReason> {
    let mut number = chain;
    let mut reading = None;
    let is_ipv6 = detect.is_ipv6();
    for _ in 0..BLOCK_CHAIN {
        // An endpoint whose PDRs match no packet of the path has a chain without blocks.
        if number == BlockId(0) {
            break;
        }
        let b = block(number).ok_or(DropReason::Internal)?;
        let hints = || reading.get_or_insert_with(|| detect.read()).1;
        let found = b.candidates(hints).find(|at| {
            let (conditions, run) = b.asks(*at);
            conditions.are_met(detect.qfi, is_ipv6)
                && (run.is_none() || {
                    let (flow, _) = reading.get_or_insert_with(|| detect.read());
                    detect.filters.any_met(run, flow)
                })
        });
        if let Some(rule) = found {
            return At::new(number, rule).ok_or(DropReason::Internal);
        }
        number = b.next;
    }
    Err(DropReason::NoPdr)
}
