//! The session entry: all state of one direction of one session, in a cache line of 64 bytes.

use crate::ids::BlockId;
use crate::session::flow_filter::FilterRun;
use crate::session::rule::{Body, Flags, Head};
use crate::session::token_bucket::Rate;
use sluice_mem::zeroable_struct;

zeroable_struct! {
    /// One tunnel endpoint or one UE. All zero is vacant.
    ///
    /// The entry answers three questions at once: is this still the endpoint that the packet was
    /// placed for (`key`, `ue_prefix`, `local`), may it come from there (`ue_ip`, `ue_prefix`), and what
    /// happens to it.
    #[derive(Clone, Copy, Default, Debug)]
    #[repr(C, align(64))]
    pub struct SessionEntry {
        /// The upper half of the UE's IPv6 addresses; 0 is none.
        pub ue_prefix: u64,
        /// TEID or UE IPv4 address in host order; 0 is vacant, or a UE without IPv4.
        pub key: u32,
        /// The UE's IPv4 address; 0 is none.
        pub ue_ip: u32,
        /// Decisions; with `EXTENDED` only the entry's own bits count.
        pub head: Head,
        /// The rest, and the number of the tunnel's address or of the network instance.
        pub body: Body,
    }
}

/// Whose an entry is.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// TEID or UE IPv4 address.
    pub key: u32,
    /// The UE's IPv4 address; 0 is none.
    pub ue_ip: u32,
    /// The upper half of the UE's IPv6 addresses; 0 is none.
    pub ue_prefix: u64,
    /// Number of the tunnel's address, or of the network instance.
    pub local: u8,
}

impl SessionEntry {
    /// Whose it is.
    #[inline(always)]
    pub fn identity(&self) -> Identity {
        Identity {
            key: self.key,
            ue_ip: self.ue_ip,
            ue_prefix: self.ue_prefix,
            local: self.local(),
        }
    }

    /// The rest of its name: the number of the tunnel's address, or of the network instance.
    #[inline(always)]
    pub fn local(&self) -> u8 {
        self.body.usage.local()
    }

    /// The same entry under this number.
    pub fn at_local(mut self, local: u8) -> Self {
        self.body.usage = self.body.usage.with_local(local);
        self
    }

    /// The first extension block, if the rules stand there.
    #[inline]
    pub fn block(&self) -> Option<BlockId> {
        let extended = self.head.flags.has(Flags::EXTENDED);
        extended.then_some(BlockId(self.head.teid))
    }

    /// The filters that tell addresses behind the UE, in an entry whose rules stand in blocks: it limits no rate
    /// itself.
    #[inline]
    pub fn routes(&self) -> Option<FilterRun> {
        let extended = self.head.flags.has(Flags::EXTENDED);
        let run = FilterRun::from_bits(self.body.rate0.bits());
        Some(run).filter(|run| extended && !run.is_none())
    }

    /// The same entry, which has its rules in blocks, with addresses behind the UE.
    pub fn with_routes(mut self, run: FilterRun) -> Self {
        self.body.rate0 = Rate::from_bits(run.bits());
        self
    }

    /// True if it is nobody's.
    pub fn is_vacant(&self) -> bool {
        self.key == 0 && self.ue_prefix == 0
    }
}

const _: () = assert!(size_of::<SessionEntry>() == 64);
